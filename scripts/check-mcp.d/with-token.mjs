// A proxy that adds a token for clients that cannot send one: node with-token.mjs URL TOKEN FILE.
// Everything else goes through as it is, Host and Origin included. Its own address goes into FILE.
import { writeFileSync } from 'node:fs';
import http from 'node:http';

const [url, token, file] = process.argv.slice(2);
const { hostname, port } = new URL(url);

const door = http.createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${token}` };
    const on = http.request({ hostname, port, path: asked.url, method: asked.method, headers }, said => {
        answer.writeHead(said.statusCode, said.headers);
        said.pipe(answer);
    });
    on.on('error', () => answer.writeHead(502).end());
    answer.on('close', () => on.destroy());
    asked.pipe(on);
});
door.listen(0, '127.0.0.1', () => writeFileSync(file, `http://127.0.0.1:${door.address().port}`));
