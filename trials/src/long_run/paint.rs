//! When a page first shows anything, and its first chart, in Chromium.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;
use serde_json::Value;

/// Milliseconds from the start of the navigation. `paint` is the first contentful paint (W3C Paint Timing). Medians of five loads, each in a
/// separate context: nothing is cached.
const SCRIPT: &str = r#"
const { chromium } = require("playwright-core");
(async () => {
  const browser = await chromium.launch({ executablePath: process.argv[1], args: ["--no-sandbox"] });
  const loads = [];
  for (let load = 0; load < 5; load++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript(() => {
      const look = () => {
        const chart = document.querySelector("figure.chart");
        if (chart?.querySelector("canvas")) return (window.drawn = performance.now());
        if (performance.getEntriesByName("first-contentful-paint").length) chart?.scrollIntoView();
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    await page.goto("file://" + process.argv[2], { waitUntil: "load" });
    const seen = () => {
      const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
      return paint && window.drawn && { paint, chart: window.drawn };
    };
    loads.push(await page.waitForFunction(seen).then((handle) => handle.jsonValue()));
    await context.close();
  }
  const median = (of) => loads.map(of).sort((a, b) => a - b)[2];
  console.log(JSON.stringify({ paint: median((load) => load.paint), chart: median((load) => load.chart) }));
  await browser.close();
})();
"#;

/// In seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    pub(super) first_paint: f64,
    /// The first frame with a chart, for a reader who goes there at once.
    pub(super) first_chart: f64,
}

/// `None` where there is no Chromium, or nothing to steer it with.
pub(super) fn measure(page: &Path) -> Result<Option<Shown>> {
    let web = Workspace::find()?.root.join("web");
    let (Some(chromium), true) = (process::find("chromium"), web.join("node_modules/playwright-core").is_dir()) else { return Ok(None) };
    let output = process::output(Command::new("node").current_dir(web).args(["-e", SCRIPT]).arg(chromium).arg(page))?;
    let measured: Value = serde_json::from_str(output.trim()).context("what Chromium measured")?;
    let seconds = |name: &str| measured[name].as_f64().map(|ms| ms / 1e3).with_context(|| format!("no {name} in {measured}"));
    Ok(Some(Shown { first_paint: seconds("paint")?, first_chart: seconds("chart")? }))
}
