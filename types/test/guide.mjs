// Writes the TypeScript of docs/guide.md to files that tsc then checks. A block without imports is the body of a function that has a
// `user` and whatever "loadstone" exports.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const here = import.meta.dirname;
const types = readFileSync(join(here, "../loadstone.d.ts"), "utf8");
const exported = [...types.matchAll(/^  export (?:function|const) (\w+)/gm)].map((match) => match[1]);
const blocks = [...readFileSync(join(here, "../../docs/guide.md"), "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]);
if (blocks.length === 0) throw new Error("docs/guide.md has no TypeScript");

const folder = join(here, "generated");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
blocks.forEach((block, index) => {
  const names = [...new Set(exported)].filter((name) => new RegExp(`\\b${name}\\b`).test(block) && !new RegExp(`const ${name}\\b`).test(block));
  const module = /^import /m.test(block) ? block : `import { ${names.join(", ")} } from "loadstone";\nexport async function block() {\n${block}}\n`;
  writeFileSync(join(folder, `guide-${index + 1}.ts`), module);
});
