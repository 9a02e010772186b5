//! Sets a knob, and restores it on every exit path. Read [`TurnedKnob`].

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use loadstone_http_client::{HttpTarget, Method, within};
use loadstone_metrics::clock::Monotonic;
use loadstone_script::{Knob, KnobChange};
use loadstone_secrets::Secrets;
use loadstone_stub::{ProxyEffects, TcpProxy};
use tokio::runtime::Runtime;
use url::Url;

use super::{host, shell};

/// Interval between readiness checks.
const READINESS_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum length of a refusing response in the error message.
const RESPONSE_BYTES_MAX: usize = 64 << 10;
const RESPONSE_CHARACTERS_SHOWN_MAX: usize = 200;

/// A knob that may be changed. Dropping it restores the first value, also when a panic unwinds.
pub(super) struct TurnedKnob {
    knob: Knob,
    /// Base folder for its commands and files.
    folder: PathBuf,
    proxies: Vec<TcpProxy>,
    runtime: Runtime,
    secrets: Secrets,
    /// Whether the knob may be at a value other than the first.
    turned: bool,
}

impl TurnedKnob {
    /// # Errors
    /// The machine does not allow an event loop.
    pub(super) fn new(knob: Knob, folder: PathBuf, proxies: Vec<TcpProxy>, secrets: Secrets) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { knob, folder, proxies, runtime, secrets, turned: false })
    }

    /// Sets the knob and waits until the system is ready. Every block starts this way, even if the value does not change, so that no value has warmer
    /// caches.
    ///
    /// # Errors
    /// What failed. The knob may then be in any state.
    pub(super) fn turn(&mut self, value: usize, stops: &dyn Fn() -> bool) -> anyhow::Result<()> {
        self.turned = true;
        self.apply(value)?;
        self.wait_until_ready(stops)?;
        std::thread::sleep(Duration::from_nanos(self.knob.settle_ns));
        Ok(())
    }

    /// Restores the first value, if the knob was ever changed.
    ///
    /// # Errors
    /// What failed.
    pub(super) fn restore(&mut self) -> anyhow::Result<()> {
        if !std::mem::take(&mut self.turned) {
            return Ok(());
        }
        self.apply(0)
    }

    /// Sets the first value unconditionally: for use after a process was killed.
    ///
    /// # Errors
    /// What failed.
    pub(super) fn put_back(&mut self) -> anyhow::Result<()> {
        self.turned = true;
        self.restore()
    }

    fn apply(&self, value: usize) -> anyhow::Result<()> {
        let value = &self.knob.values[value];
        let done = value.changes.iter().try_for_each(|change| self.change(change));
        done.with_context(|| format!("cannot set \"{}\" to {}", self.knob.name, value.label))
    }

    fn change(&self, change: &KnobChange) -> anyhow::Result<()> {
        match change {
            KnobChange::Command { command } => shell::run(command, &self.folder, self.knob.within_ns),
            KnobChange::Http { http, method, headers, body } => self.runtime.block_on(self.send(http, method, headers, body)),
            KnobChange::File { file, text } => {
                let path = self.folder.join(file);
                std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
            }
            // A proxy ends with its process.
            KnobChange::Proxy { .. } if self.proxies.is_empty() => Ok(()),
            KnobChange::Proxy { proxy, delay_ns, bytes_per_second, resets } => {
                let proxy = self.proxies.get(*proxy).context("the test has no such proxy")?;
                proxy.set(ProxyEffects { delay_ns: *delay_ns, bytes_per_second: *bytes_per_second, resets: *resets });
                Ok(())
            }
            KnobChange::Cpus { cpus, of } => host::allow_cpus(*cpus, of),
            KnobChange::Paused { paused, of } => host::pause(*paused, of),
        }
    }

    async fn send(&self, url: &str, method: &str, headers: &[(String, String)], body: &str) -> anyhow::Result<()> {
        let status_and_text = self.call(url, method, headers, body).await;
        let (status, text) = status_and_text.with_context(|| format!("{method} {}", self.secrets.hide(url)))?;
        if (200..300).contains(&status) {
            return Ok(());
        }
        let shown: String = text.trim().chars().take(RESPONSE_CHARACTERS_SHOWN_MAX).collect();
        bail!("{method} {} returned {status}: {shown}", self.secrets.hide(url))
    }

    async fn call(&self, url: &str, method: &str, headers: &[(String, String)], body: &str) -> anyhow::Result<(u16, String)> {
        let target = HttpTarget::of(&Url::parse(url)?)?;
        let mut request = target.request(Method::from_bytes(method.as_bytes())?, body.to_owned());
        for (name, value) in headers {
            request.headers_mut().append(loadstone_http_client::header::HeaderName::try_from(name.as_str())?, value.parse()?);
        }
        let limit = Duration::from_nanos(self.knob.within_ns);
        let answer = within(limit, async {
            let response = target.send(request).await?;
            let status = response.status().as_u16();
            Ok((status, response.into_body().bytes(RESPONSE_BYTES_MAX).await?))
        });
        let (status, bytes) = answer.await?;
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn wait_until_ready(&self, stops: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let Some(url) = &self.knob.ready else { return Ok(()) };
        let clock = Monotonic::start();
        loop {
            let answered = self.runtime.block_on(self.call(url, "GET", &[], ""));
            let problem = match answered {
                Ok((status, _)) if (200..300).contains(&status) => return Ok(()),
                Ok((status, _)) => format!("status {status}"),
                Err(problem) => format!("{problem:#}"),
            };
            if stops() {
                return Ok(());
            }
            if clock.now() > self.knob.within_ns {
                let waited = loadstone_units::duration::format(self.knob.within_ns);
                bail!("the system is not ready after {waited}: GET {}: {problem}", self.secrets.hide(url));
            }
            std::thread::sleep(READINESS_POLL_INTERVAL);
        }
    }
}

impl Drop for TurnedKnob {
    fn drop(&mut self) {
        if let Err(problem) = self.restore() {
            // All that remains is to report it.
            let _ = writeln!(std::io::stderr(), "error: \"{}\" was NOT restored: {problem:#}", self.knob.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use loadstone_script::KnobValue;

    use super::*;

    fn knob(changes: impl Fn(&str) -> KnobChange) -> Knob {
        let value = |label: &str| KnobValue { label: label.to_owned(), amount: None, changes: vec![changes(label)] };
        Knob { name: "cache".to_owned(), values: vec![value("off"), value("on")], ready: None, within_ns: 5_000_000_000, settle_ns: 0 }
    }

    fn turned(folder: &std::path::Path, changes: impl Fn(&str) -> KnobChange) -> TurnedKnob {
        TurnedKnob::new(knob(changes), folder.to_owned(), Vec::new(), Secrets::default()).unwrap()
    }

    fn file(label: &str) -> KnobChange {
        KnobChange::File { file: "cache.conf".to_owned(), text: label.to_owned() }
    }

    #[test]
    fn a_panic_restores_the_knob() {
        let folder = tempfile::tempdir().unwrap();
        let read = || std::fs::read_to_string(folder.path().join("cache.conf")).unwrap();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let mut turned = turned(folder.path(), file);
            turned.turn(1, &|| false).unwrap();
            assert_eq!(read(), "on");
            std::panic::resume_unwind(Box::new("on purpose"));
        }));
        assert!(ended.is_err());
        assert_eq!(read(), "off");
    }

    #[test]
    fn a_knob_that_was_never_set_is_not_restored() {
        let folder = tempfile::tempdir().unwrap();
        drop(turned(folder.path(), file));
        assert!(!folder.path().join("cache.conf").exists());
    }

    #[test]
    fn a_failed_command_reports_its_output_and_a_hanging_one_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let error_of = |line: &'static str, within_ns: u64| format!("{:#}", shell::run(line, folder.path(), within_ns).unwrap_err());
        assert!(error_of("echo no such pool >&2; exit 3", 5_000_000_000).ends_with("exit status: 3: no such pool"));
        assert!(error_of("sleep 100", 50_000_000).contains("did not end within 50ms"));
        // Processes that the command leaves in the background are not waited for.
        shell::run("sleep 5 & true", folder.path(), 5_000_000_000).unwrap();
    }

    /// A process is paused, and resumes when the knob is restored.
    #[test]
    fn a_paused_process_resumes_afterwards() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let state = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
        };
        let becomes = |wanted: &[char]| {
            (0..500).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                wanted.contains(&state())
            })
        };
        let folder = tempfile::tempdir().unwrap();
        let mut turned =
            turned(folder.path(), |label| KnobChange::Paused { paused: label == "on", of: loadstone_script::KnobTarget::Pid(pid) });
        turned.turn(1, &|| false).unwrap();
        assert!(becomes(&['T']), "{}", state());
        drop(turned);
        assert!(becomes(&['S', 'R']), "{}", state());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
