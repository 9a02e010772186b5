//! Invalid addresses in literals or parameters are errors before anything runs.

use loadstone_script::Inputs;

use crate::folder::{at, load_error, load_with};

/// A test whose only scenario has this body, with a parameter that it may use.
fn test(body: &str) -> String {
    format!(
        "import {{ test, scenario, once, param }} from \"loadstone\";\n\
         const database = param.url(\"shop\", {{ default: \"http://app:hidden@127.0.0.1/shop\" }});\n\
         const s = scenario(\"S\", async (user) => {{\n  {body}\n}});\nexport default test({{ load: s.run(once()) }});\n"
    )
}

#[test]
fn an_invalid_address_is_rejected_with_its_place_and_without_its_password() {
    for (body, place, expected, help) in [
        (
            "await user.sql(database).query('SELECT 1');",
            "t.load.ts:4:18",
            "the URL of the database: its scheme is http: write postgres://, or mysql://",
            "set it with `-p shop=…`",
        ),
        ("const sql = user.sql('mysql:///shop');", "t.load.ts:4:24", "the URL of the database: it has no host", ""),
        ("user.sql(`postgres://app@h/x`); user.redis(\"http://:hidden@h\");", "t.load.ts:4:46", "its scheme is http: write redis://", ""),
        ("user.kafka('kafka://app:hidden@h/orders');", "t.load.ts:4:14", "the URL of the Kafka broker: it has a path", ""),
        (
            "user.redis(database);",
            "t.load.ts:4:14",
            "the URL of the Redis server: its scheme is http",
            "the address is the parameter `shop`",
        ),
    ] {
        let error = load_error(&test(body));
        assert_eq!(at(&error), place, "{}", error.render());
        assert!(error.message.contains(expected) && error.help.as_deref().unwrap_or_default().contains(help), "{}", error.render());
        assert!(!error.render().contains("hidden"), "{}", error.render());
    }
}

#[test]
fn addresses_known_only_at_run_time_are_checked_at_run_time() {
    let with_shop = |value: &str| Inputs { parameters: vec![("shop".to_owned(), value.to_owned())], ..Inputs::default() };
    let uses_it = test("await user.sql(database).query('SELECT 1');");
    load_with(&uses_it, &[], &with_shop("mysql://app@127.0.0.1/shop")).unwrap();
    let refused = load_with(&uses_it, &[], &with_shop("postgres://127.0.0.1/shop")).unwrap_err();
    assert!(refused.message.contains("it has no user"), "{refused}");
    load_with(&test("user.sql('mssql' + '://h');"), &[], &Inputs::default()).unwrap();
    load_with(&test("const other = { sql: (url: string) => url }; other.sql('mssql://h');"), &[], &Inputs::default()).unwrap();
}
