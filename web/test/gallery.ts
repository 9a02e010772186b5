// The picture of a finding as a file: the pictures of its first evidence that has some, from the page, with their titles and legends as SVG text.

import type { Locator } from "playwright-core";

/** Runs in the page, on a finding's article. `null` if no evidence has a picture. */
export async function pictureOf(finding: Locator): Promise<string | null> {
  return finding.evaluate((article) => {
    const STYLES = [
      "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-weight", "text-anchor", "paint-order",
    ];
    const INITIAL: Record<string, string> = {
      "fill": "rgb(0, 0, 0)", "stroke": "none", "stroke-width": "1px", "stroke-dasharray": "none", "stroke-linejoin": "miter", "opacity": "1",
      "text-anchor": "start", "paint-order": "normal",
    };
    const [MARGIN, TITLE, LEGEND] = [14, 24, 22];
    const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
    const rounded = (value: string) => value.replace(/\d+\.\d+/g, (number) => String(Math.round(Number(number) * 10) / 10));
    const words = (node: Element) => (node.textContent ?? "").replace(/\s+/g, " ").trim();

    function drawn(node: Element): string {
      const style = getComputedStyle(node);
      const isText = node.tagName === "text";
      const styled = STYLES.filter((name) => isText || !name.startsWith("font")).map((name) => [name, style.getPropertyValue(name)] as const);
      const own = [...node.attributes].filter(({ name }) => !/^(class|style|data-.*|stroke|text-anchor)$/.test(name));
      const attributes = [...own.map(({ name, value }) => [name, value] as const), ...styled.filter(([name, value]) => INITIAL[name] !== value)];
      const opening = `<${node.tagName} ${attributes.map(([name, value]) => `${name}="${escaped(rounded(value))}"`).join(" ")}`;
      return isText ? `${opening}>${escaped(words(node))}</text>` : `${opening}/>`;
    }

    function legend(item: Element, x: number): string {
      const swatch = getComputedStyle(item.querySelector("i")!);
      const dashes = swatch.borderTopStyle === "dashed" ? ' stroke-dasharray="5 4"' : "";
      const line = `<line x1="${x}" x2="${x + 14}" y1="-4" y2="-4" stroke="${swatch.borderTopColor}" stroke-width="2.5"${dashes}/>`;
      return `${line}<text x="${x + 19}" y="0" font-size="12" fill="#4a5762">${escaped(words(item))}</text>`;
    }

    const evidence = [...article.querySelectorAll("[data-testid=evidence]")].find((one) => one.querySelector("figure"));
    if (!evidence) return null;
    const parts: string[] = [];
    let [top, width] = [MARGIN, 0];
    for (const figure of evidence.querySelectorAll("figure")) {
      const svg = figure.querySelector("svg")!;
      const wide = Math.round(Number(svg.getAttribute("width")));
      const caption = [...figure.querySelector("figcaption")!.childNodes].map((node) => (node.textContent ?? "").replace(/\s+/g, " ").trim());
      const title = escaped(caption.filter(Boolean).join(" · "));
      parts.push(`<text x="${MARGIN}" y="${top + 13}" font-size="13" font-weight="600" fill="#17222b">${title}</text>`);
      top += TITLE;
      parts.push(`<g transform="translate(${MARGIN} ${top})">`, ...[...svg.children].map(drawn), "</g>");
      top += Number(svg.getAttribute("height"));
      // A line of the legend is as wide as the picture. A character takes 6.8 pixels on average.
      let x = 58;
      const items: string[] = [];
      for (const item of figure.querySelectorAll("ul > li")) {
        const needed = 33 + words(item).length * 6.8;
        if (x > 58 && x + needed > wide) {
          parts.push(`<g transform="translate(${MARGIN} ${top + 14})">`, ...items.splice(0), "</g>");
          [x, top] = [58, top + LEGEND - 4];
        }
        items.push(legend(item, Math.round(x)));
        x += needed;
      }
      if (items.length > 0) {
        parts.push(`<g transform="translate(${MARGIN} ${top + 14})">`, ...items, "</g>");
        top += LEGEND;
      }
      top += 10;
      width = Math.max(width, wide + 2 * MARGIN);
    }
    const size = `viewBox="0 0 ${width} ${top}" width="${width}" height="${top}"`;
    const opening = `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="system-ui, sans-serif">`;
    const paper = `<rect width="${width}" height="${top}" rx="6" fill="#ffffff" stroke="#d9dfe3"/>`;
    return [opening, paper, ...parts, "</svg>", ""].join("\n");
  });
}
