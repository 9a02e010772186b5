// The page of results, bench/results/wire.md.

export function resultsPage(rows, counts, differences, versions) {
  const columns = ["rows", "compared", "explained", "faults", "unexplained"];
  const kinds = Object.entries(counts.kinds).map(([kind, each]) => `| ${kind} | ${columns.map((column) => each[column]).join(" | ")} |`);
  const faults = differences.filter((each) => each.isFault);
  return `# Bytes on the wire

Written by \`cargo xtask wire\` on ${new Date().toISOString().slice(0, 10)}. Loadstone, curl, Node and Go send the same requests to a server that
records raw bytes. They also read the same odd responses. [trials/wire](../../trials/wire/README.md) describes the method.

${versions.map((version) => `- ${version}`).join("\n")}

| kind | rows | comparisons | explained differences | of these, faults of Loadstone to be fixed | unexplained differences |
|---|--:|--:|--:|--:|--:|
${kinds.join("\n")}
| all | ${rows.length} | ${counts.compared} | ${counts.explained} | ${counts.faults} | ${counts.unexplained} |

A comparison is one aspect of one row, between Loadstone and one other client or a value written by hand. Each explained difference has a line with a reason in
[differences.txt](../../trials/wire/differences.txt).

## Known faults

${faults.length ? faults.map((each) => `- \`${each.line.split("  ")[0]}\`: ${each.reason.replace(/^to be fixed: */, "")}`).join("\n") : "None."}
`;
}
