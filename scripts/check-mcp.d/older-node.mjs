// The conformance suite asks node:fs for globSync, which node 20 does not have. Only a command that we do not use
// calls it, so before node 22 it gets one that says so: node --import older-node.mjs.
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
