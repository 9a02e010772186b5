// Checks with TypeScript's compiler whether JSON has the type that src/generated declares: a missing field, an unknown field and a wrong value are
// errors. Read `mistakes`.

import { fileURLToPath } from "node:url";
import ts from "typescript";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, allowImportingTsExtensions: true,
  strict: true, noEmit: true, skipLibCheck: true, lib: ["lib.es2022.d.ts"], types: [],
};
/** Longer lists of numbers are shortened: all of their elements have the same type. */
const NUMBERS_MAX = 8;

/** A value and the type that it should have: `RunRow[]`, from a module below src. */
export interface Typed {
  value: unknown;
  type: string;
  module: "generated/report" | "generated/ui" | "answers/source";
}

/** The errors, one line each. */
export function mistakes(values: Typed[]): string[] {
  const name = `${FOLDER}checked-views.ts`;
  const lines = values.map(({ value, type, module }, i) => {
    const imported = type.replace("[]", "");
    return `import type { ${imported} as T${i} } from "../src/${module}.ts";\nexport const value${i}: T${i}${type.replace(imported, "")} = ${literal(value)};`;
  });
  const text = lines.join("\n");
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (file) => file === name || fileExists(file);
  host.getSourceFile = (file, version) => (file === name ? ts.createSourceFile(file, text, version) : getSourceFile(file, version));
  const program = ts.createProgram([name], OPTIONS, host);
  return ts.getPreEmitDiagnostics(program).map((found) => ts.flattenDiagnosticMessageText(found.messageText, "\n"));
}

/** With a line break after each comma, so that no line is too long for the compiler's messages. */
function literal(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (isNumbers(part) ? shortened(part) : part), 1);
}

const isNumbers = (part: unknown): part is (number | null)[] =>
  Array.isArray(part) && part.length > NUMBERS_MAX && part.every((one) => one === null || typeof one === "number");

function shortened(list: (number | null)[]): (number | null)[] {
  const gap = list.includes(null) ? [null] : [];
  return [...list.slice(0, NUMBERS_MAX), ...gap];
}
