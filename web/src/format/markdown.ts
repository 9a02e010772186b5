// Reads the Markdown of the rules' documentation (docs/findings): headings, paragraphs, lists, tables, quotes; in text, code, bold and links. Deliberately
// absent: other constructs, which those pages do not have, and HTML, which is shown as text.

import { tied } from "./prose";

export interface MarkdownSpan {
  text: string;
  kind: "plain" | "code" | "bold" | "link";
  /** Of links to other sites; links to other pages of the documentation are plain. */
  href?: string;
}

export type MarkdownBlock =
  | { kind: "heading" | "paragraph" | "quote"; text: MarkdownSpan[] }
  | { kind: "list"; items: MarkdownSpan[][] }
  | { kind: "table"; head: MarkdownSpan[][]; rows: MarkdownSpan[][][] };

const SPAN = /`([^`]+)`|\*\*([^*]+)\*\*|\[((?:`[^`]*`|[^\]])+)\]\(([^)]+)\)/g;

export function spans(text: string): MarkdownSpan[] {
  const all: MarkdownSpan[] = [];
  const plain = (part: string) => { if (part) all.push({ text: tied(part), kind: "plain" }); };
  let at = 0;
  for (const match of text.matchAll(SPAN)) {
    const [whole, code, bold, label, target] = match;
    plain(text.slice(at, match.index));
    at = match.index + whole.length;
    if (code !== undefined) all.push({ text: code, kind: "code" });
    else if (bold !== undefined) all.push({ text: tied(bold), kind: "bold" });
    else if (/^https?:/.test(target!)) all.push({ text: label!.replaceAll("`", ""), kind: "link", href: target! });
    else all.push(...spans(label!));
  }
  plain(text.slice(at));
  return all;
}

const cells = (line: string) => line.replace(/^\s*\|/, "").replace(/\|\s*$/, "").split(/(?<!\\)\|/).map((cell) => spans(cell.trim().replaceAll("\\|", "|")));

function block(lines: string[]): MarkdownBlock {
  const [first] = lines as [string];
  const joined = (strip: RegExp) => spans(lines.map((line) => line.replace(strip, "")).join(" "));
  if (first.startsWith("#")) return { kind: "heading", text: joined(/^#+ /) };
  if (first.startsWith(">")) return { kind: "quote", text: joined(/^> ?/) };
  if (first.startsWith("|")) return { kind: "table", head: cells(first), rows: lines.slice(2).map(cells) };
  if (first.startsWith("- ")) {
    const items: string[] = [];
    for (const line of lines) {
      if (line.startsWith("- ")) items.push(line.slice(2));
      else items[items.length - 1] += ` ${line.trim()}`;
    }
    return { kind: "list", items: items.map(spans) };
  }
  return { kind: "paragraph", text: joined(/^\s+/) };
}

/** The blocks of a page, without its title. */
export function blocks(markdown: string): MarkdownBlock[] {
  const parts = markdown.split(/\n{2,}/).map((part) => part.split("\n").filter((line) => line !== ""));
  return parts.filter((lines) => lines.length > 0 && !lines[0]!.startsWith("# ")).map(block);
}
