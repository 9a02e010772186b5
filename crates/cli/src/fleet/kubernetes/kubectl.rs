//! Calls `kubectl`, which knows the user's clusters and how to log in to them.

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A command on the cluster failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KubectlError {
    #[error(
        "the program kubectl is not on the search path: install it (https://kubernetes.io/docs/tasks/tools), or print the objects with --dry-run"
    )]
    Missing,
    #[error(
        "cannot reach the cluster{context}: kubectl reports \"{output}\". Check that it is the right one (`kubectl config current-context`, KUBECONFIG)"
    )]
    Unreachable { context: String, output: String },
    #[error("kubectl {command} failed: {output}")]
    Refused { command: String, output: String },
    #[error("cannot run kubectl: {0}")]
    Start(std::io::Error),
    #[error("kubectl {command} returned invalid JSON: {problem}")]
    Answer { command: String, problem: serde_json::Error },
}

/// Messages of kubectl when a cluster does not respond, or none is configured.
const UNREACHABLE_MESSAGES: [&str; 7] = [
    "The connection to the server",
    "Unable to connect to the server",
    "connection refused",
    "i/o timeout",
    "no such host",
    "no configuration has been provided",
    "does not exist",
];

/// A cluster and a namespace, as kubectl selects them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kubectl {
    pub(crate) context: Option<String>,
    pub(crate) namespace: Option<String>,
}

impl Kubectl {
    /// Arguments that precede the command's arguments.
    fn flags(&self) -> Vec<String> {
        let given = [("--context", &self.context), ("--namespace", &self.namespace)];
        given.iter().filter_map(|(flag, value)| value.as_ref().map(|value| format!("{flag}={value}"))).collect()
    }

    /// The prefix of a command line for messages.
    pub(crate) fn shown(&self) -> String {
        ["kubectl".to_owned()].into_iter().chain(self.flags()).collect::<Vec<_>>().join(" ")
    }

    /// Runs a command and returns its output.
    ///
    /// # Errors
    /// [`KubectlError`]
    pub(crate) fn call(&self, arguments: &[&str], input: &str) -> Result<String, KubectlError> {
        let mut command = Command::new("kubectl");
        command.args(self.flags()).arg("--request-timeout=20s").args(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| if error.kind() == ErrorKind::NotFound { KubectlError::Missing } else { KubectlError::Start(error) })?;
        if let Some(mut stdin) = child.stdin.take() {
            // If the process ends before it has read all input, its own error message explains why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(KubectlError::Start)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(self.failure(arguments, &String::from_utf8_lossy(&output.stderr)))
    }

    /// The same, for a command that prints JSON.
    ///
    /// # Errors
    /// [`KubectlError`]
    pub(crate) fn json(&self, arguments: &[&str]) -> Result<Value, KubectlError> {
        let text = self.call(arguments, "")?;
        serde_json::from_str(&text).map_err(|problem| KubectlError::Answer { command: arguments.join(" "), problem })
    }

    fn failure(&self, arguments: &[&str], stderr: &str) -> KubectlError {
        // kubectl prints each attempt before its final message.
        let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty() && !is_log(line)).collect();
        let output = lines.join("; ");
        if UNREACHABLE_MESSAGES.iter().any(|text| lines.iter().any(|line| line.contains(text) && !line.contains("(NotFound)"))) {
            let context = self.context.as_ref().map(|context| format!(" (context {context})")).unwrap_or_default();
            return KubectlError::Unreachable { context, output };
        }
        KubectlError::Refused { command: arguments.first().copied().unwrap_or_default().to_owned(), output }
    }
}

/// `E1123 13:37:08.123456    1234 memcache.go:265] …`
fn is_log(line: &str) -> bool {
    line.starts_with(['E', 'W', 'I']) && line.get(1..5).is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(stderr: &str) -> String {
        Kubectl { context: Some("test".to_owned()), namespace: None }.failure(&["apply", "-f", "-"], stderr).to_string()
    }

    #[test]
    fn an_unreachable_cluster_is_distinguished_from_one_that_refuses() {
        let away = "E1123 13:37:08.123456    1234 memcache.go:265] \"Unhandled Error\" err=\"couldn't get current server API group list\"\n\
                    The connection to the server 127.0.0.1:6443 was refused - did you specify the right host or port?\n";
        let message = failure(away);
        assert!(
            message.starts_with("cannot reach the cluster (context test): kubectl reports \"The connection to the server 127.0.0.1:6443"),
            "{message}"
        );
        assert!(failure("error: context \"test\" does not exist\n").contains("cannot reach the cluster"));
        let refused = failure("Error from server (Forbidden): secrets is forbidden: User \"joe\" cannot create resource\n");
        assert!(refused.starts_with("kubectl apply failed: Error from server (Forbidden)"), "{refused}");
    }
}
