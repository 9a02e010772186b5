// curl: one process per row. Steps of a row are transfers of one process, so they share its connections and cookies.

import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PARALLEL = 4;

/** Runs all rows and returns `{ id: [outcome per step] }`. A row that no command line can express is `"unable"`. */
export async function runCurl(rows, folder) {
  const outcomes = {};
  const queue = [...rows];
  await Promise.all(Array.from({ length: PARALLEL }, async (_, lane) => {
    for (let row = queue.shift(); row; row = queue.shift()) outcomes[row.id] = await runRow(row, join(folder, `curl-${lane}`));
  }));
  return outcomes;
}

async function runRow(row, stem) {
  const words = row.steps.map((step, index) => commandLine(row, step, `${stem}-${index}`));
  if (words.flat().some((word) => word.includes("\0"))) return "unable";
  // curl's own file must not change what it sends.
  const all = ["-q", ...words.flatMap((step, index) => (index ? ["--next", ...step] : step))];
  for (let index = 0; index < words.length; index++) for (const kind of ["head", "body"]) writeFileSync(`${stem}-${index}.${kind}`, "");
  const options = { env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8" }, encoding: "latin1" };
  const output = await new Promise((resolve) => execFile("curl", all, options, (_, stdout) => resolve(stdout)));
  const lines = [...output.matchAll(/^step (\d+) exit (\d+) status (\d+) (.*)$/gm)];
  const ends = new Map(lines.map(([, index, exit, status, message]) => [Number(index), { exit, status, message }]));
  return words.map((_, index) => {
    const end = ends.get(index);
    if (!end || end.exit !== "0" || end.status === "000") return { error: end ? `exit ${end.exit}: ${end.message}` : "no transfer" };
    return { status: Number(end.status), headers: lastHead(readFileSync(`${stem}-${index}.head`)), body: readFileSync(`${stem}-${index}.body`) };
  });
}

function commandLine(row, step, stem) {
  const words = ["-sS", "-g", "--http1.1", "--max-time", "2.5", "-o", `${stem}.body`, "-D", `${stem}.head`];
  words.push("-w", `step ${stem.split("-").at(-1)} exit %{exitcode} status %{http_code} %{errormsg}\\n`);
  const hasBody = step.body !== undefined || step.form || step.multipart;
  if (step.method === "HEAD" && !hasBody) words.push("-I");
  else if (!(step.method === "GET" && !hasBody) && !(step.method === "POST" && hasBody)) words.push("-X", step.method);
  for (const [name, value] of step.headers) words.push("-H", value === "" ? `${name};` : `${name}: ${value}`);
  if (step.body !== undefined) {
    writeFileSync(`${stem}.send`, step.body);
    words.push("--data-binary", `@${stem}.send`);
    if (!step.headers.some(([name]) => name.toLowerCase() === "content-type")) words.push("-H", "Content-Type:");
  }
  for (const [name, value] of step.form ?? []) words.push("--data-urlencode", `${encodeURIComponent(name)}=${value}`);
  for (const [name, value] of step.query ?? []) words.push("--data-urlencode", `${encodeURIComponent(name)}=${value}`);
  if (step.query) words.push("-G");
  (step.multipart ?? []).forEach((part, index) => {
    if (part.filename === undefined) words.push("--form-string", `${part.name}=${part.value}`);
    else {
      writeFileSync(`${stem}.part${index}`, part.content);
      words.push("-F", `${part.name}=@${stem}.part${index};filename="${part.filename.replace(/["\\]/g, "\\$&")}";type=${part.type}`);
    }
  });
  if (step.auth) words.push("-u", step.auth.join(":"));
  if (step.redirects) words.push("-L", "--max-redirs", String(step.redirects));
  if (row.pauseMs) words.push("--rate", `${Math.floor(1000 / row.pauseMs)}/s`);
  if (row.cookies) words.push("-b", "");
  if (row.decoded) words.push("--compressed");
  words.push(...(row.proxy ? ["-x", `http://${row.origins.o}`] : ["--noproxy", "*"]), step.url);
  return words;
}

/** The header lines of the last head in a file of `-D`; curl itself joins folded lines. */
function lastHead(bytes) {
  const heads = bytes.toString("latin1").split(/\r?\n\r?\n/).filter((head) => /^(HTTP|ICY)/i.test(head.trimStart()));
  const lines = (heads.at(-1) ?? "").split(/\r?\n/).slice(1);
  return lines.filter((line) => line.includes(":")).map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
}
