// Every message against the reference library for JavaScript.

import { readFileSync } from "node:fs";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

const [heard, secretFile] = process.argv.slice(2);
const verifier = new Webhook(readFileSync(secretFile, "utf8").trim());
const other = new Webhook(`whsec_${Buffer.alloc(32).toString("base64")}`);

const anotherSignature = (text) => {
  const [version, signature] = text.split(",");
  const raw = Buffer.from(signature, "base64");
  raw[0] ^= 1;
  return `${version},${raw.toString("base64")}`;
};

let accepted = 0;
let rejected = 0;
for (const line of readFileSync(heard, "utf8").trim().split("\n")) {
  const message = JSON.parse(line);
  const headers = Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const body = Buffer.from(message.body, "base64").toString("utf8");
  verifier.verify(body, headers);
  accepted += 1;
  const stamp = Number(headers["webhook-timestamp"]);
  const tampered = [
    [verifier, body.replace("mission", "misson"), headers],
    [verifier, `${body} `, headers],
    [verifier, body, { ...headers, "webhook-timestamp": String(stamp + 1) }],
    [verifier, body, { ...headers, "webhook-timestamp": String(stamp - 3600) }],
    [verifier, body, { ...headers, "webhook-id": `${headers["webhook-id"]}0` }],
    [verifier, body, { ...headers, "webhook-signature": anotherSignature(headers["webhook-signature"]) }],
    [other, body, headers],
  ];
  for (const [by, changed, given] of tampered) {
    try {
      by.verify(changed, given);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      rejected += 1;
      continue;
    }
    throw new Error(`taken although it was tampered with: ${JSON.stringify(given)} ${changed}`);
  }
}
if (accepted < 4) throw new Error(`only ${accepted} messages came`);
console.log(`standardwebhooks for JavaScript: ${accepted} messages accepted, ${rejected} tampered ones rejected`);
