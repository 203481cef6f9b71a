import { exportJWK, generateKeyPair, SignJWT, type JSONWebKeySet } from 'jose';

/** Signs tokens as an identity provider does, with a key that lives as long as the process. */
export interface Signing {
  /** The public half, for those who verify. */
  readonly keys: JSONWebKeySet;
  /** A token for an hour. */
  sign(subject: string): Promise<string>;
}

export async function createSigning(): Promise<Signing> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const kid = 'example';

  return {
    keys: { keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'ES256' }] },
    sign: (subject) =>
      new SignJWT({ sub: subject })
        .setProtectedHeader({ alg: 'ES256', kid })
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
  };
}
