import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { blocks, spans } from "./markdown";

const PAGES = fileURLToPath(new URL("../../../docs/findings/", import.meta.url));

test("headings, lists, tables and quotes are blocks", () => {
  const page = "# Title\n\nOne `a|b`\nline.\n\n> Quote\n> on.\n\n- **a**: b\n  more\n- c\n\n| x | y |\n|---|--:|\n| 1 \\| 2 | `z` |\n\n## Part";
  const text = (all: { text: string }[]) => all.map((span) => span.text).join("");
  expect(blocks(page).map((block) => block.kind)).toEqual(["paragraph", "quote", "list", "table", "heading"]);
  const [paragraph, quote, list, table, heading] = blocks(page) as any;
  expect([text(paragraph.text), text(quote.text), text(heading.text)]).toEqual(["One a|b line.", "Quote on.", "Part"]);
  expect(list.items.map(text)).toEqual(["a: b more", "c"]);
  expect([table.head.map(text), table.rows.map((row: any) => row.map(text))]).toEqual([["x", "y"], [["1 | 2", "z"]]]);
});

test("links to other sites remain links, others are text", () => {
  expect(spans("see [RFC 896](https://rfc.example/896) and [`cpu`](cpu.md), <b>not</b> HTML")).toEqual([
    { text: "see ", kind: "plain" },
    { text: "RFC 896", kind: "link", href: "https://rfc.example/896" },
    { text: " and ", kind: "plain" },
    { text: "cpu", kind: "code" },
    { text: ", <b>not</b> HTML", kind: "plain" },
  ]);
});

/** A construct that this reader does not know would appear with its signs. */
test("no page of a rule has a sign of Markdown left over", () => {
  for (const file of readdirSync(PAGES)) {
    const all = blocks(readFileSync(`${PAGES}${file}`, "utf8").replaceAll(/^!\[.*$/gm, ""));
    const texts = all.flatMap((block) =>
      block.kind === "list" ? block.items : block.kind === "table" ? [block.head, ...block.rows].flat() : [block.text]);
    const left = texts.flat().filter((span) => span.kind !== "code" && /\*\*|`|\]\(|^#|^\d+\. |^\|/.test(span.text));
    expect(left, file).toEqual([]);
  }
});
