//! A separate network for a test, if the user may create one.

use std::process::{Child, Command, Stdio};

pub(crate) struct NetworkNamespace {
    name: String,
    /// Processes started in it.
    programs: Vec<Child>,
}

impl NetworkNamespace {
    /// `None`: these tests lack the permission, unless they run as root and outside a container.
    #[expect(clippy::print_stderr, reason = "the output must show that nothing was tested")]
    pub(crate) fn new() -> Option<Self> {
        let name = format!("loadstone-test-{}", std::process::id());
        let created = Command::new("ip").args(["netns", "add", &name]).output().expect("ip is missing: `cargo xtask setup` installs it");
        if !created.status.success() {
            eprintln!("skipped: cannot create a network namespace: {}", String::from_utf8_lossy(&created.stderr));
            return None;
        }
        let namespace = Self { name, programs: Vec::new() };
        perform(&mut namespace.inside(Command::new("ip").args(["link", "set", "lo", "up"])));
        Some(namespace)
    }

    /// A command that runs in it.
    pub(crate) fn inside(&self, of: &Command) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.name)).arg("--").arg(of.get_program()).args(of.get_args());
        of.get_current_dir().map(|folder| command.current_dir(folder));
        for (name, value) in of.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Drops this share of the packets of a TCP port, in both directions.
    pub(crate) fn lose(&self, port: u16, share: f64) {
        for direction in ["--dport", "--sport"] {
            let mut rule = Command::new("iptables");
            rule.args(["--wait", "--append", "INPUT", "--protocol", "tcp", direction, &port.to_string()]);
            rule.args(["--match", "statistic", "--mode", "random", "--probability", &share.to_string(), "--jump", "DROP"]);
            perform(&mut self.inside(&rule));
        }
    }

    /// Number of dropped packets.
    pub(crate) fn lost(&self) -> u64 {
        let listed = self.inside(Command::new("iptables").args(["--wait", "--list", "INPUT", "--verbose", "--exact"])).output();
        let listed = String::from_utf8(listed.expect("iptables runs").stdout).expect("text");
        let rules = listed.lines().filter(|line| line.contains("DROP"));
        rules.filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok()).sum()
    }

    /// Starts a program in it, which ends with it.
    pub(crate) fn start(&mut self, of: &Command) {
        let child = self.inside(of).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.programs.push(child.expect("nsenter starts"));
    }
}

fn perform(command: &mut Command) {
    let output = command.output().expect("nsenter and iptables are there: `cargo xtask setup` installs what is missing");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        for program in &mut self.programs {
            // A program that has already ended cannot be killed.
            let _gone = (program.kill(), program.wait());
        }
        let _gone = Command::new("ip").args(["netns", "delete", &self.name]).output();
    }
}
