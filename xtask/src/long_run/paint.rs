//! When a page first shows anything, in Chromium.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::process;
use crate::workspace::Workspace;

/// First contentful paint (W3C Paint Timing) in milliseconds, on standard output.
const SCRIPT: &str = r#"
const { chromium } = require("playwright-core");
(async () => {
  const browser = await chromium.launch({ executablePath: process.argv[1], args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto("file://" + process.argv[2], { waitUntil: "load" });
  const first = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
  console.log(JSON.stringify(await page.waitForFunction(first).then((handle) => handle.jsonValue())));
  await browser.close();
})();
"#;

/// Seconds; `None` where there is no Chromium, or none that can be steered.
pub(super) fn first(page: &Path) -> Option<f64> {
    let chromium = process::find("chromium")?;
    let web = Workspace::find().ok()?.root.join("web");
    let mut command = Command::new("node");
    command.current_dir(web).args(["-e", SCRIPT]).arg(chromium).arg(page);
    let said: Value = serde_json::from_str(process::attempt(&mut command)?.trim()).ok()?;
    Some(said.as_f64()? / 1e3)
}
