// A registry of the packages in a folder, for tests: `node registry.mjs FOLDER` prints its address. npm reads a package's document and its archive, no more.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const folder = process.argv[2];
const archives = readdirSync(folder).filter((name) => name.endsWith(".tgz"));

function documents(origin) {
  const described = archives.map((archive) => {
    const file = join(folder, archive);
    const manifest = JSON.parse(execFileSync("tar", ["-xOzf", file, "package/package.json"]));
    const integrity = `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
    const version = { ...manifest, dist: { tarball: `${origin}/-/${archive}`, integrity } };
    return [manifest.name, { name: manifest.name, "dist-tags": { latest: manifest.version }, versions: { [manifest.version]: version } }];
  });
  return new Map(described);
}

const server = createServer((request, response) => {
  const path = decodeURIComponent(request.url.slice(1));
  const archive = archives.find((name) => path === `-/${name}`);
  if (archive) return response.end(readFileSync(join(folder, archive)));
  const document = documents(`http://${request.headers.host}`).get(path);
  response.statusCode = document ? 200 : 404;
  response.end(JSON.stringify(document ?? { error: "not found" }));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
