//! Function names in their usual source form.

use cpp_demangle::{DemangleOptions, Symbol};

/// Suffixes that compilers add to the name of a function that they have split or copied.
const PARTS: [&str; 7] = [".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm", ".localalias"];

/// Removes what only the linker needs: hashes, types of parameters, and the numbers of a function's parts and copies.
pub(super) fn readable(symbol: &str) -> String {
    let whole = PARTS.iter().filter_map(|part| symbol.find(part)).min().map_or(symbol, |end| &symbol[..end]);
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let demangled = Symbol::new(whole).ok().and_then(|name| name.demangle_with_options(&options).ok());
    demangled.unwrap_or_else(|| whole.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_in_the_source() {
        for (symbol, name) in [
            ("score", "score"),
            ("score.constprop.0", "score"),
            ("score.isra.0.part.1", "score"),
            ("main.(*Shop).hash", "main.(*Shop).hash"),
            ("_ZN4shop5scoreERKSt6vectorIdSaIdEE", "shop::score"),
            ("_ZN4shop5scoreEi.cold", "shop::score"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvCskwGfYPst2Cb_4shop5score", "shop::score"),
            ("_Znonsense", "_Znonsense"),
        ] {
            assert_eq!(readable(symbol), name);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_symbol_has_a_name(symbol in "(_Z|_R|)[A-Za-z0-9_.$]{0,60}") {
            readable(&symbol);
        }
    }
}
