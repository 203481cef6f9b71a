import { VersioningType, type VersioningOptions } from '@nestjs/common';

interface VersionedRequest {
  readonly headers: Readonly<Record<string, unknown>>;
}

/**
 * The version of the API that a request asks for outside of its URL, as the application is set up to read it;
 * `undefined` where it says nothing.
 */
export function requestedVersion(
  request: VersionedRequest,
  versioning: VersioningOptions | undefined,
): string | undefined {
  if (versioning === undefined || versioning.type === VersioningType.URI) return undefined;

  const version = versionIn(request, versioning);
  return version === undefined ? undefined : JSON.stringify(version);
}

function versionIn(
  request: VersionedRequest,
  versioning: Exclude<VersioningOptions, { readonly type: VersioningType.URI }>,
): unknown {
  if (versioning.type === VersioningType.CUSTOM) return versioning.extractor(request);
  if (versioning.type === VersioningType.HEADER) return request.headers[versioning.header.toLowerCase()];

  const { accept } = request.headers;
  const parameters = typeof accept === 'string' ? accept.split(';').slice(1) : [];
  return parameters
    .map((parameter) => parameter.trim())
    .find((parameter) => parameter.startsWith(versioning.key))
    ?.slice(versioning.key.length);
}
