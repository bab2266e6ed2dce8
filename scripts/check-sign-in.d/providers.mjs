// OpenID providers for check-sign-in: PLACE CONFIG. CONFIG is a JSON list of { port, redirect, kind }.
//
// `kind` is `user-info` (claims only in user info, as the standard has it), `id-token` (claims in the ID token, signed
// with ES256), `expired` (the ID token has expired) or `audience` (the ID token is for another client).

import { generateKeyPairSync } from 'node:crypto';

const [place, config] = process.argv.slice(2);
const { default: Provider } = await import(`${place}/node_modules/oidc-provider/lib/index.js`);

const jwk = (kind, options, more) => ({
  ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }), use: 'sig', ...more,
});
const keys = [
  jwk('rsa', { modulusLength: 2048 }, { kid: 'rsa', alg: 'RS256' }),
  jwk('ec', { namedCurve: 'P-256' }, { kid: 'ec', alg: 'ES256' }),
];

const client = (id, redirect, alg) => ({
  client_id: id,
  client_secret: 'a secret: with+signs&',
  redirect_uris: [redirect],
  response_types: ['code'],
  grant_types: ['authorization_code'],
  id_token_signed_response_alg: alg,
});

for (const { port, redirect, kind } of JSON.parse(config)) {
  const alg = kind === 'id-token' ? 'ES256' : 'RS256';
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [client('trackside', redirect, alg), client('another', redirect, alg)],
    jwks: { keys },
    cookies: { keys: ['check-sign-in'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
    conformIdTokenClaims: kind !== 'id-token',
    pkce: { methods: ['S256'], required: () => true },
    ttl: { IdToken: () => (kind === 'expired' ? -300 : 300), AccessToken: 300, Session: 300, Grant: 300, Interaction: 300 },
    findAccount: (context, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${id}@example.com`,
        email_verified: id !== 'unverified',
        groups: id === 'kim' ? ['devs'] : [],
      }),
    }),
  });
  if (kind === 'audience') {
    const issue = provider.IdToken.prototype.issue;
    const another = await provider.Client.find('another');
    provider.IdToken.prototype.issue = function issueForAnother(...rest) {
      Object.defineProperty(this, 'client', { value: another });
      return issue.apply(this, rest);
    };
  }
  await new Promise((listening) => provider.listen(port, '127.0.0.1', listening));
}
console.log('ready');
