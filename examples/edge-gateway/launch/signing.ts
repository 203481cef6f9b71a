import { exportJWK, generateKeyPair, SignJWT, type JSONWebKeySet, type JWTPayload } from 'jose';

const HOUR_S = 3_600;

/** Signs tokens as an identity provider does, with a key that lives as long as the process. */
export interface Signing {
  /** The public half, for those who verify. */
  readonly keys: JSONWebKeySet;
  /** A token for an hour, or with other claims. */
  sign(subject: string, claims?: JWTPayload): Promise<string>;
}

export async function createSigning(): Promise<Signing> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const kid = 'example';

  return {
    keys: { keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'ES256' }] },
    sign: (subject, claims = { exp: Math.floor(Date.now() / 1_000) + HOUR_S }) =>
      new SignJWT({ ...claims, sub: subject }).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey),
  };
}
