//! What a test may do in addition to the default.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Args;
use loadstone_protocol::HostPattern;
use loadstone_script::Permissions;

/// Permissions of a script, for every command that takes one.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Permissions")]
pub(crate) struct PermissionArgs {
    /// File or folder that the test may read, in addition to its own folder. Can be repeated.
    #[arg(long, value_name = "PATH", env = "LOADSTONE_ALLOW_READ", hide_env_values = true, value_delimiter = ',')]
    allow_read: Vec<PathBuf>,
    /// File or folder that the test may write, in addition to its own folder. Can be repeated.
    #[arg(long, value_name = "PATH", env = "LOADSTONE_ALLOW_WRITE", hide_env_values = true, value_delimiter = ',')]
    allow_write: Vec<PathBuf>,
    /// Host that the test may connect to although neither it nor its parameters name it: shop.example:443, *.shop.example, or * for every host. Can be
    /// repeated.
    #[arg(long, value_name = "HOST[:PORT]", env = "LOADSTONE_ALLOW_NET", hide_env_values = true, value_delimiter = ',')]
    allow_net: Vec<HostPattern>,
    /// Replay recorded requests that may change data, too: all methods but GET, HEAD and OPTIONS (`arrivals.replay`).
    #[arg(long)]
    allow_writes: bool,
}

impl PermissionArgs {
    pub(crate) fn permissions(&self) -> Permissions {
        Permissions {
            read: self.allow_read.clone(),
            write: self.allow_write.clone(),
            net: self.allow_net.clone(),
            writes: self.allow_writes,
        }
    }

    /// The first of these flags that is set, if not by the environment.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        let all = [
            ("--allow-read", "LOADSTONE_ALLOW_READ", !self.allow_read.is_empty()),
            ("--allow-write", "LOADSTONE_ALLOW_WRITE", !self.allow_write.is_empty()),
            ("--allow-net", "LOADSTONE_ALLOW_NET", !self.allow_net.is_empty()),
        ];
        if self.allow_writes {
            return Some("--allow-writes");
        }
        all.into_iter().find_map(|(flag, variable, is_set)| (is_set && std::env::var_os(variable).is_none()).then_some(flag))
    }

    /// The flags that give another process the same permissions.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let flag = |name: &str, value: &OsStr| {
            let mut flag = OsString::from(name);
            flag.push("=");
            flag.push(value);
            flag
        };
        let read = self.allow_read.iter().map(|path| flag("--allow-read", path.as_os_str()));
        let write = self.allow_write.iter().map(|path| flag("--allow-write", path.as_os_str()));
        let net = self.allow_net.iter().map(|host| flag("--allow-net", host.to_string().as_ref()));
        read.chain(write).chain(net).chain(self.allow_writes.then(|| OsString::from("--allow-writes"))).collect()
    }
}
