// Inserts the built script and style into the page itself, so that the report is one file that opens from disk. Deliberately absent: anything that
// fetches, any second chunk. A build that needs one fails here.

import type { Plugin } from "vite";

export function inlineEverything(): Plugin {
  return {
    name: "inline-everything",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("the build produced no index.html");
      let html = String(page.source);
      for (const [file, item] of Object.entries(bundle)) {
        if (item === page) continue;
        if (item.type === "chunk") {
          html = replaceTag(html, new RegExp(`<script[^>]*src="[^"]*${escaped(file)}"[^>]*></script>`), inlineScript(item.code));
        } else if (file.endsWith(".css")) {
          html = replaceTag(html, new RegExp(`<link[^>]*href="[^"]*${escaped(file)}"[^>]*>`), `<style>${String(item.source).trim()}</style>`);
        } else {
          throw new Error(`${file} would be a second file of the report; import it inline`);
        }
        delete bundle[file];
      }
      page.source = html;
    },
  };
}

/** The end tag of a script inside a string would end the script. */
function inlineScript(code: string): string {
  return `<script type="module">${code.trim().replaceAll("</script", "<\\/script")}</script>`;
}

function replaceTag(html: string, tag: RegExp, replacement: string): string {
  if (!tag.test(html)) throw new Error(`no tag in index.html matches ${tag}`);
  // A function, because a string would interpret `$&` in the code as a pattern.
  return html.replace(tag, () => replacement);
}

function escaped(file: string): string {
  return file.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
