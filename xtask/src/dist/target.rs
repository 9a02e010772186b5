//! What a release has binaries for: a system and a processor.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use clap::ValueEnum;

use super::processor::Processor;

/// Runs programs for aarch64 on other processors (Debian's package qemu-user-static).
const EMULATOR: &str = "qemu-aarch64-static";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetSystem {
    Linux,
    Macos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReleaseTarget {
    pub(super) system: TargetSystem,
    pub(super) processor: Processor,
}

impl TargetSystem {
    /// The name in archives and in URLs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Macos => "macos",
        }
    }

    /// The name in Node, `process.platform`.
    pub(super) fn node_name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Macos => "darwin",
        }
    }

    /// The name in sentences.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Linux => "Linux",
            Self::Macos => "macOS",
        }
    }
}

impl ReleaseTarget {
    pub(super) const ALL: [Self; 4] = [
        Self { system: TargetSystem::Linux, processor: Processor::X86_64 },
        Self { system: TargetSystem::Linux, processor: Processor::Aarch64 },
        Self { system: TargetSystem::Macos, processor: Processor::X86_64 },
        Self { system: TargetSystem::Macos, processor: Processor::Aarch64 },
    ];

    /// The name in archives.
    pub(super) fn name(self) -> String {
        format!("{}-{}", self.processor.name(), self.system.name())
    }

    /// The target of the compiler. Linux on x86-64 is linked statically against glibc, which every build machine has; on arm64 against the musl of zig.
    pub(super) fn triple(self) -> &'static str {
        match (self.system, self.processor) {
            (TargetSystem::Linux, Processor::X86_64) => "x86_64-unknown-linux-gnu",
            (TargetSystem::Linux, Processor::Aarch64) => "aarch64-unknown-linux-musl",
            (TargetSystem::Macos, Processor::X86_64) => "x86_64-apple-darwin",
            (TargetSystem::Macos, Processor::Aarch64) => "aarch64-apple-darwin",
        }
    }

    /// Whether this machine runs its programs without emulation.
    pub(super) fn is_own(self) -> bool {
        self.system.name() == env::consts::OS && Processor::own() == Some(self.processor)
    }

    /// Whether this machine runs its programs, if need be emulated. No program for macOS runs elsewhere.
    pub(super) fn is_runnable(self) -> bool {
        self.is_own() || (self.system == TargetSystem::Linux && env::consts::OS == "linux")
    }

    /// Starts a binary, emulated if it is for another processor than this machine's.
    ///
    /// # Errors
    /// It is for a system that cannot be emulated.
    pub(super) fn start(self, binary: &Path) -> Result<Command> {
        if !self.is_runnable() {
            bail!("a program for {} does not run on this machine", self.name());
        }
        if self.is_own() {
            return Ok(Command::new(binary));
        }
        let mut emulated = Command::new(EMULATOR);
        emulated.arg(binary);
        Ok(emulated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_policy_for_dependencies_names_every_target() {
        let policy: toml_edit::DocumentMut = include_str!("../../../deny.toml").parse().unwrap();
        let mut named: Vec<_> = policy["graph"]["targets"].as_array().unwrap().iter().filter_map(|target| target.as_str()).collect();
        let mut released = ReleaseTarget::ALL.map(ReleaseTarget::triple);
        named.sort_unstable();
        released.sort_unstable();
        assert_eq!(named, released);
    }

    #[test]
    fn every_target_has_its_own_names_and_a_mac_runs_no_program_elsewhere() {
        for (number, target) in ReleaseTarget::ALL.into_iter().enumerate() {
            assert!(ReleaseTarget::ALL[..number].iter().all(|other| other.name() != target.name() && other.triple() != target.triple()));
        }
        let [linux, _, mac, _] = ReleaseTarget::ALL;
        assert_eq!((linux.name().as_str(), mac.name().as_str()), ("x86_64-linux", "x86_64-macos"));
        if env::consts::OS == "linux" {
            assert!(linux.start(Path::new("true")).is_ok());
            let refused = mac.start(Path::new("true")).unwrap_err().to_string();
            assert_eq!(refused, "a program for x86_64-macos does not run on this machine");
        }
    }
}
