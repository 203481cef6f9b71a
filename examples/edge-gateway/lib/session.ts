import { createLocalJWKSet, errors, jwtVerify, type JWTVerifyOptions } from 'jose';
import type { Settings } from './settings.js';

/** What a request says about who sends it, as far as that can be told without asking anybody. */
export type Session = 'signed' | 'missing' | 'invalid';

export type VerifySession = (request: Request) => Promise<Session>;

/** Only with these a public key is enough; a token does not choose to be signed with a shared secret, or not at all. */
const ALGORITHMS = ['ES256', 'EdDSA', 'PS256', 'RS256'];
const BEARER = /^bearer +([^\s,]+)$/i;

/** Checks signature, time, issuer and audience of a token. Calls nobody. */
export function sessionVerifier({ keys, issuer, audience }: Settings): VerifySession {
  const keySet = createLocalJWKSet(keys);
  const options: JWTVerifyOptions = {
    algorithms: ALGORITHMS,
    requiredClaims: ['exp'],
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  };

  return async (request) => {
    const header = request.headers.get('authorization');
    if (header === null) return 'missing';

    const token = BEARER.exec(header)?.[1];
    if (token === undefined) return 'invalid';
    try {
      await jwtVerify(token, keySet, options);
      return 'signed';
    } catch (error) {
      // Anything else is a fault of ours, such as a key that cannot be used, and no reason to blame the token.
      if (error instanceof errors.JOSEError) return 'invalid';
      throw error;
    }
  };
}
