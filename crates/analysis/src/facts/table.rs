//! The macro that turns the table in the parent file into [`Facts`](super::Facts).

/// Declares a struct with one field per input and per fact, and its function `of`, which computes them.
///
/// A fact is one entry: `name: Type = expression;`, after its doc comment. `of` evaluates the entries from the top down. An expression may use the inputs,
/// the intermediate results and the facts above it. An expression that uses a fact below it does not compile.
macro_rules! fact_table {
    (
        $(#[$about:meta])*
        struct $facts:ident<$run:lifetime>;
        inputs { $($input:ident: $input_type:ty;)* }
        intermediate { $($local:ident = $local_value:expr;)* }
        facts { $($(#[$doc:meta])* $fact:ident: $fact_type:ty = $fact_value:expr;)* }
    ) => {
        $(#[$about])*
        pub(crate) struct $facts<$run> {
            $(pub(crate) $input: $input_type,)*
            $($(#[$doc])* pub(crate) $fact: $fact_type,)*
        }

        impl<$run> $facts<$run> {
            pub(crate) fn of($($input: $input_type),*) -> Self {
                $(let $local = $local_value;)*
                $(let $fact = $fact_value;)*
                Self { $($input,)* $($fact,)* }
            }
        }
    };
}

pub(super) use fact_table;
