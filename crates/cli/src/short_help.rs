//! Help in portions: `-h` shows the everyday flags of a command on one screen, `--help` all flags, and `--help GROUP` the flags of one group. Read
//! [`of_group`] and [`short`].

use clap::{Arg, Command};

/// The flags that `-h` shows, by command, without their dashes. Other commands show all of their flags.
const EVERYDAY: [(&str, &[&str]); 9] = [
    ("run", &["param", "rate", "users", "for", "ramp", "header", "threshold", "against", "live", "html"]),
    ("try", &["scenario", "param", "insecure"]),
    ("demo", &["for", "serve", "live", "html"]),
    ("watch", &["record", "follow", "log-format", "for", "pid", "process", "postgres", "prometheus", "threshold", "live"]),
    ("mcp", &["runs", "http", "limit-net", "limit-rate", "limit-users", "limit-duration", "allow-knobs", "limit-call"]),
    ("stub", &["listen", "delay", "status", "body", "json-body", "fault", "limit", "concurrent"]),
    ("compare", &["fail-if", "effect", "runs", "anyway", "json", "html"]),
    ("experiment", &["knob", "block", "rounds", "measure", "finding", "param", "html"]),
    ("capacity", &["objective", "param", "of-run", "first", "most", "budget", "html"]),
];

/// The commands that `loadstone -h` shows.
const EVERYDAY_COMMANDS: [&str; 11] =
    ["run", "watch", "try", "init", "import", "demo", "doctor", "ui", "compare", "experiment", "capacity"];

/// Words for groups: the word after `--help`, and the start of the group's heading.
const GROUPS: [(&str, &str); 9] = [
    ("url", "Load on a URL"),
    ("network", "Network"),
    ("permissions", "Permissions"),
    ("output", "Output"),
    ("observe", "Observe"),
    ("compare", "Comparison"),
    ("fleet", "Fleet"),
    ("limits", "Limits"),
    ("record", "Record"),
];

/// The command line whose `-h` shows only everyday flags, one sentence for each. `arguments` includes the program.
pub(crate) fn short(command: Command, arguments: &[String]) -> Command {
    // Without arguments, the program shows the same as `-h`.
    if arguments.len() > 1 && !arguments.iter().any(|argument| argument == "-h") {
        return command;
    }
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let is_list = arguments.get(1).is_none_or(|argument| argument.starts_with('-'));
    let others: Vec<&str> = names.iter().map(String::as_str).filter(|name| !EVERYDAY_COMMANDS.contains(name)).collect();
    let more = format!("Also: {}.\nMore: --help; COMMAND -h shows the everyday flags of a command.", others.join(", "));
    let command = command.mut_arg("color", |argument| argument.hide_short_help(true)).after_help(more).disable_help_subcommand(true);
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| if is_list { in_list(name, sub) } else { on_one_screen(name, sub) })
    })
}

/// A command as a line of the list of commands.
fn in_list(name: &str, command: Command) -> Command {
    /// What a terminal of 80 columns leaves.
    const ABOUT_MAX: usize = 66;
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let about = if about.chars().count() > ABOUT_MAX { in_short(&about) } else { about };
    command.about(about).hide(!EVERYDAY_COMMANDS.contains(&name))
}

fn on_one_screen(name: &str, command: Command) -> Command {
    let shown = EVERYDAY.iter().find(|(of, _)| *of == name).map(|(_, shown)| *shown);
    let more = match shown {
        Some(_) => format!("More: --help{}.", listed(&groups_of(&command))),
        None => "More: --help shows details and examples.".to_owned(),
    };
    let is_hidden = |argument: &Arg| shown.is_some_and(|shown| argument.get_long().is_some_and(|long| !shown.contains(&long)));
    command
        .mut_args(|argument| {
            let (hides, help) = (is_hidden(&argument), argument.get_help().map(|help| in_short(&help.to_string())));
            let argument = argument.help_heading(None::<&str>).hide_short_help(hides);
            match help {
                Some(help) => argument.help(help),
                None => argument,
            }
        })
        .after_help(more)
}

/// What a flag is for, without details.
fn in_short(help: &str) -> String {
    let end = [". ", ": ", " (", ", and "].iter().filter_map(|details| help.find(details)).min().unwrap_or(help.len());
    help[..end].to_owned()
}

/// Help of one group: `loadstone run --help network`.
pub(crate) fn of_group(mut command: Command, arguments: &[String]) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == "--help")?;
    let word = arguments.get(at + 1)?;
    let (_, heading) = GROUPS.iter().find(|(group, _)| group == word)?;
    let name = arguments.get(1).filter(|name| !name.starts_with('-'))?;
    command.build();
    let found = command.find_subcommand(name)?.clone();
    let is_of_group = |argument: &Arg| argument.get_help_heading().is_some_and(|title| title.starts_with(heading));
    if !found.get_arguments().any(is_of_group) {
        return None;
    }
    let shown = found.mut_args(|argument| {
        let hides = !is_of_group(&argument);
        argument.hide(hides)
    });
    Some(shown.after_long_help("").render_long_help().to_string())
}

fn groups_of(command: &Command) -> Vec<&'static str> {
    let has =
        |heading: &str| command.get_arguments().any(|argument| argument.get_help_heading().is_some_and(|title| title.starts_with(heading)));
    GROUPS.iter().filter(|(_, heading)| has(heading)).map(|(group, _)| *group).collect()
}

fn listed(groups: &[&str]) -> String {
    if groups.is_empty() { String::new() } else { format!(", or --help {} for one group", groups.join("|")) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::command_line::Cli;

    fn arguments(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn short_help_fits_a_screen() {
        let mut command = short(Cli::command(), &arguments("loadstone run -h"));
        // Adds what subcommands inherit, such as --version.
        command.build();
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let text = sub.clone().term_width(100).render_help().to_string();
            assert!(text.lines().count() <= 24, "{} has {} lines:\n{text}", sub.get_name(), text.lines().count());
        }
    }

    #[test]
    fn the_list_of_commands_fits_a_screen_of_80_columns_and_names_all() {
        for line in ["loadstone", "loadstone -h"] {
            let text = short(Cli::command(), &arguments(line)).term_width(80).render_help().to_string();
            assert!(text.lines().count() <= 24, "{} lines:\n{text}", text.lines().count());
            for name in Cli::command().get_subcommands().map(|sub| sub.get_name().to_owned()) {
                assert!(text.contains(&name), "{name} is missing in\n{text}");
            }
        }
    }

    #[test]
    fn everyday_flags_and_groups_exist() {
        let command = Cli::command();
        for (name, shown) in EVERYDAY {
            let sub = command.find_subcommand(name).unwrap();
            for flag in shown {
                assert!(sub.get_arguments().any(|argument| argument.get_long() == Some(flag)), "{name} has no --{flag}");
            }
        }
        for (group, _) in GROUPS {
            let of = if group == "record" { "watch" } else { "run" };
            let text = of_group(Cli::command(), &arguments(&format!("loadstone {of} --help {group}"))).unwrap();
            assert!(text.contains("--"), "{text}");
        }
        let network = of_group(Cli::command(), &arguments("loadstone run --help network")).unwrap();
        assert!(network.contains("--proxy") && !network.contains("--junit"), "{network}");
        assert_eq!(of_group(Cli::command(), &arguments("loadstone run --help shop.load.ts")), None);
    }
}
