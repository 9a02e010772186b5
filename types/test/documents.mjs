// Writes the TypeScript of README.md and of the pages in docs/ to files that tsc then checks. A block with imports is a file as it stands. Any
// other may use what "loadstone" exports and what other such blocks of its document declare at their top level; unless it exports a test, it is
// the body of a function that has a `user`.
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

/** A block as a module of its own. */
function module(block, others) {
  if (/^import /m.test(block)) return block;
  // Blocks that declare what this one speaks of, and those that they need in turn.
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
