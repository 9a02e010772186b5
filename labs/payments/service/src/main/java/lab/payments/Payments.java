package lab.payments;

import java.util.concurrent.ThreadLocalRandom;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.support.TransactionTemplate;

/** One payment: eight reads, a call to the gateway, ten writes. */
@Service
class Payments {
    private final JdbcTemplate database;
    private final TransactionTemplate transactions;
    private final Gateway gateway;
    private final Risk risk;
    private final boolean oneTransaction;

    Payments(JdbcTemplate database, TransactionTemplate transactions, Gateway gateway, Risk risk, @Value("${COMMITS:ten}") String commits) {
        this.database = database;
        this.transactions = transactions;
        this.gateway = gateway;
        this.risk = risk;
        this.oneTransaction = commits.equals("one");
    }

    long pay(long account, long amount, String key) {
        risk.score(key);
        String currency = read("select currency from accounts where id = ?", account);
        String method = read("select token from payment_methods where account_id = ?", account);
        String plan = read("select plan from subscriptions where account_id = ?", account);
        read("select price from prices where plan = ?", plan);
        read("select rate from taxes where currency = ?", currency);
        read("select daily_limit from limits where account_id = ?", account);
        read("select merchant from routes where currency = ?", currency);
        read("select max(payment_id) from idempotency_keys where id = ?", key);

        Writes writes = new Writes(database, transactions, oneTransaction);
        long payment = newId();
        long attempt = newId();
        writes.add("insert into payments (id, account_id, amount, status) values (?, ?, ?, 'created')", payment, account, amount);
        writes.add("insert into idempotency_keys (id, payment_id) values (?, ?)", key, payment);
        writes.add("insert into attempts (id, payment_id, status) values (?, ?, 'open')", attempt, payment);
        writes.add("update payments set status = 'authorising' where id = ?", payment);
        // Where nothing is written yet, a crash here leaves a payment that only the gateway knows: reconciliation asks it by the payment's key.
        String reference = gateway.authorise(key, method, amount);
        writes.add("insert into gateway_responses (attempt_id, reference) values (?, ?)", attempt, reference);
        writes.add("update attempts set status = 'authorised' where id = ?", attempt);
        writes.add("insert into ledger (payment_id, side, amount) values (?, 'debit', ?)", payment, amount);
        writes.add("insert into ledger (payment_id, side, amount) values (?, 'credit', ?)", payment, amount);
        writes.add("update payments set status = 'authorised' where id = ?", payment);
        writes.add("insert into events (payment_id, kind) values (?, 'payment.authorised')", payment);
        writes.finish();
        return payment;
    }

    private String read(String statement, Object argument) {
        return database.queryForObject(statement, String.class, argument);
    }

    /** Numbers that grow with time, so that new rows stand beside each other. */
    private static long newId() {
        return System.currentTimeMillis() << 20 | ThreadLocalRandom.current().nextInt(1 << 20);
    }
}
