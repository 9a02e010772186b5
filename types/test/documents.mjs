// Writes the TypeScript of README.md and of the pages in docs/ to files for tsc to check. A block with imports becomes a file unchanged. Any other
// block may use the exports of "loadstone" and the top-level declarations of other such blocks in its document. Unless it exports a test, it
// becomes the body of a function with a `user`.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const here = import.meta.dirname;
const root = join(here, "../..");
// docs/script.md quotes the types themselves.
const documents = ["README.md", ...readdirSync(join(root, "docs"), { recursive: true }).filter((name) => name.endsWith(".md") && name !== "script.md").map((name) => `docs/${name}`)];
const types = readFileSync(join(here, "../loadstone.d.ts"), "utf8");
const exported = [...new Set([...types.matchAll(/^  export (?:function|const) (\w+)/gm)].map((match) => match[1]))];
const folder = join(here, "generated");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);

const uses = (text, name) => new RegExp(`(?<![.\\w])${name}\\b`).test(text);
const declares = (text, name) => new RegExp(`(?:const|let|function) ${name}\\b`).test(text);

/** A block as a complete module. */
function module(block, others) {
  if (/^import /m.test(block)) return block;
  // Blocks with declarations that this one uses, and blocks that these use in turn.
  const needed = [];
  for (let text = block, found = true; found; ) {
    found = false;
    for (const other of others) {
      const names = [...other.matchAll(/^const (\w+)/gm)].map((match) => match[1]);
      if (!needed.includes(other) && names.some((name) => uses(text, name) && !declares(text, name))) {
        needed.push(other);
        text += other;
        found = true;
      }
    }
  }
  const top = needed.reverse().join("\n");
  const names = exported.filter((name) => uses(top + block, name) && !declares(top + block, name));
  const isFile = /^export default /m.test(block);
  const body = isFile ? block : `export async function block(user: User) {\n${block}}\n`;
  return `import { ${["type User", ...names].join(", ")} } from "loadstone";\n${top}\n${body}`;
}

let count = 0;
for (const document of documents) {
  const blocks = [...readFileSync(join(root, document), "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]);
  blocks.forEach((block, index) => {
    count += 1;
    writeFileSync(join(folder, `${document.replace(/\.md$/, "").replaceAll("/", "-")}-${index + 1}.ts`), module(block, blocks.filter((other) => other !== block && !/^(import|export) /m.test(other))));
  });
}
if (count === 0) throw new Error("the documents hold no TypeScript");
