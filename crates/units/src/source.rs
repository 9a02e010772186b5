//! JavaScript and TypeScript from anybody: parsers recurse, so deep sources are refused, and fairly deep ones are read on a large stack.
//!
//! Read [`guarded`]. The depth is an estimate that is never far below the truth: brackets, and operators and keywords that nest without brackets.

use std::io;

/// Sources nested deeper are refused.
pub const NESTING_MAX: usize = 5_000;
/// Up to this depth an ordinary thread's stack suffices, also in a development build.
const ORDINARY_NESTING_MAX: usize = 64;
/// The kernel provides memory for this only as far as it is used. One level takes up to 30 KB in a development build. Bytes.
const LARGE_STACK_BYTES: usize = 512 << 20;

/// Why a source is not read.
#[derive(Debug, thiserror::Error)]
pub enum NestingError {
    #[error("the source is nested more than {NESTING_MAX} deep")]
    TooDeep,
    #[error("cannot start a thread to read a deeply nested source: {0}")]
    Thread(#[from] io::Error),
}

/// Does work that recurses over `text`.
///
/// # Errors
/// The text is nested too deeply, or there is no memory for a large stack.
///
/// # Panics
/// When the work does.
pub fn guarded<T: Send>(text: &str, work: impl FnOnce() -> T + Send) -> Result<T, NestingError> {
    match nesting(text) {
        depth if depth <= ORDINARY_NESTING_MAX => Ok(work()),
        depth if depth > NESTING_MAX => Err(NestingError::TooDeep),
        _ => Ok(on_large_stack(work)?),
    }
}

/// Checks that a text is not nested too deeply, for work on a large stack.
///
/// # Errors
/// It is.
pub fn check(text: &str) -> Result<(), NestingError> {
    if nesting(text) > NESTING_MAX { Err(NestingError::TooDeep) } else { Ok(()) }
}

/// Does work on a stack that suffices for checked sources.
///
/// # Errors
/// There is no memory for it.
///
/// # Panics
/// When the work does.
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("source".to_owned()).stack_size(LARGE_STACK_BYTES).spawn_scoped(scope, work)?;
        thread.join().map_or_else(|panic| std::panic::resume_unwind(panic), Ok)
    })
}

/// Keywords that begin an operand or a statement within another.
const NESTING_WORDS: [&str; 16] =
    ["await", "typeof", "void", "delete", "new", "yield", "async", "if", "else", "for", "while", "with", "do", "extends", "keyof", "infer"];

/// An open bracket, and the operators since the last separator at its level.
struct OpenBracket {
    closes_template: bool,
    operators: usize,
}

/// The estimated depth of a source's syntax tree.
fn nesting(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut levels = vec![OpenBracket { closes_template: false, operators: 0 }];
    let (mut operators, mut deepest, mut at, mut last, mut line_nests) = (0, 0, 0, b';', false);
    while at < bytes.len() {
        let byte = bytes[at];
        let mut next = at + 1;
        match byte {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                next = at + bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at)
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => next = text[at + 2..].find("*/").map_or(bytes.len(), |end| at + end + 4),
            b'"' | b'\'' => (next, last) = (string_end(bytes, at), byte),
            b'`' => {
                let (end, opens) = template_end(bytes, at + 1);
                (next, last) = (end, byte);
                if opens {
                    levels.push(OpenBracket { closes_template: true, operators: 0 });
                }
            }
            b'(' | b'[' | b'{' => {
                levels.push(OpenBracket { closes_template: false, operators: 0 });
                last = byte;
            }
            b')' | b']' | b'}' => {
                last = byte;
                if levels.len() > 1
                    && let Some(closed) = levels.pop()
                {
                    operators -= closed.operators;
                    if closed.closes_template && byte == b'}' {
                        let (end, opens) = template_end(bytes, at + 1);
                        next = end;
                        if opens {
                            levels.push(OpenBracket { closes_template: true, operators: 0 });
                        }
                    }
                }
            }
            b';' | b',' => {
                operators -= reset(&mut levels);
                last = byte;
            }
            b'\n' => {
                let follows = bytes[next..].iter().find(|byte| !byte.is_ascii_whitespace()).copied().unwrap_or(b';');
                let continues = is_operator(last) || is_operator(follows) || line_nests || text[next..].trim_start().starts_with("else");
                if !continues {
                    operators -= reset(&mut levels);
                }
                line_nests = false;
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80 => {
                let word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'$') || **byte >= 0x80;
                next = at + bytes[at..].iter().take_while(word).count();
                last = byte;
                if NESTING_WORDS.iter().any(|known| known.as_bytes() == &bytes[at..next]) {
                    operators += add(&mut levels);
                    line_nests = true;
                }
            }
            byte if is_operator(byte) => {
                operators += add(&mut levels);
                last = byte;
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => last = byte,
        }
        deepest = deepest.max(levels.len() - 1 + operators);
        at = next;
    }
    deepest
}

fn is_operator(byte: u8) -> bool {
    matches!(byte, b'=' | b'!' | b'~' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'&' | b'|' | b'^' | b'?' | b':' | b'.' | b'@')
}

fn add(levels: &mut [OpenBracket]) -> usize {
    levels.last_mut().map_or(0, |level| {
        level.operators += 1;
        1
    })
}

fn reset(levels: &mut [OpenBracket]) -> usize {
    levels.last_mut().map_or(0, |level| std::mem::take(&mut level.operators))
}

/// The index after a string's closing quote, or at its line's end.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' => return at,
            byte if byte == bytes[start] => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The index after a template's end, or after the `${` that opens an expression in it.
fn template_end(bytes: &[u8], mut at: usize) -> (usize, bool) {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'`' => return (at + 1, false),
            b'$' if bytes.get(at + 1) == Some(&b'{') => return (at + 2, true),
            _ => {}
        }
        at += 1;
    }
    (bytes.len(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_nesting_is_counted() {
        let deep = |unit: &str, times: usize| unit.repeat(times);
        for text in [
            deep("[", 6_000),
            deep("x=[", 6_000),
            deep("f(\n", 6_000),
            deep("!", 6_000),
            deep("typeof ", 6_000),
            deep("a.", 6_000),
            deep("1+\n", 6_000),
            deep("a?b:", 6_000),
            deep("x=>", 6_000),
            deep("if(a)\n", 6_000),
            deep("if(a){}\nelse ", 6_000),
            deep("`${", 6_000),
            deep("/* ' */ [ // \"\n", 6_000),
            deep("A<", 6_000),
            deep("label:", 6_000),
        ] {
            assert!(nesting(&text) >= 6_000, "{}", &text[..12.min(text.len())]);
            assert!(matches!(guarded(&text, || ()), Err(NestingError::TooDeep)));
        }
    }

    #[test]
    fn ordinary_sources_are_flat() {
        let lines = "const a = b.c(d => d.e + 1, `x${y}z`)\nfoo.bar()\n".repeat(20_000);
        assert!(nesting(&lines) < 20, "{}", nesting(&lines));
        let list = format!("export default [{}];", "{ a: 'x.y.z', b: \"(((\" },\n".repeat(20_000));
        assert!(nesting(&list) < 20);
        let class = format!("class A {{\n{}}}", "m(a: string): number { return a.length }\n".repeat(20_000));
        assert!(nesting(&class) < 20, "{}", nesting(&class));
    }

    #[test]
    fn deep_work_has_room() {
        fn recurse(depth: usize) -> usize {
            let room = std::hint::black_box([0_u8; 8 << 10]);
            if depth == 0 { usize::from(room[0]) } else { 1 + recurse(depth - 1) }
        }
        assert_eq!(guarded(&"[".repeat(4_900), || recurse(4_900)).unwrap(), 4_900);
    }
}
