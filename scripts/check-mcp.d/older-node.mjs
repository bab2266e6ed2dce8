// The conformance suite imports globSync from node:fs, which Node 20 does not have. Only a command that we do not use
// calls it, so before Node 22 this module provides one that throws an error: node --import older-node.mjs.
import fs from 'node:fs';
import { register } from 'node:module';

const script = text => `data:text/javascript,${encodeURIComponent(text)}`;
const patched = script(`
    export * from 'node:fs';
    export { default } from 'node:fs';
    export const globSync = () => { throw new Error('globSync needs node 22'); };
`);
if (!fs.globSync) {
    register(script(`
        export const resolve = (name, context, next) =>
            name === 'fs' && /\\/conformance(-coming)?\\//.test(context.parentURL)
                ? { url: ${JSON.stringify(patched)}, shortCircuit: true }
                : next(name, context);
    `));
}
