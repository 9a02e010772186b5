package lab.payments;

import java.util.ArrayList;
import java.util.List;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.support.TransactionTemplate;

/** What a payment writes: each statement by itself as it comes (auto-commit), or all of them in one transaction at the end. */
final class Writes {
    private record Write(String statement, Object[] arguments) {}

    private final JdbcTemplate database;
    private final TransactionTemplate transactions;
    private final boolean oneTransaction;
    private final List<Write> waiting = new ArrayList<>();

    Writes(JdbcTemplate database, TransactionTemplate transactions, boolean oneTransaction) {
        this.database = database;
        this.transactions = transactions;
        this.oneTransaction = oneTransaction;
    }

    void add(String statement, Object... arguments) {
        if (oneTransaction) waiting.add(new Write(statement, arguments));
        else database.update(statement, arguments);
    }

    void finish() {
        if (waiting.isEmpty()) return;
        transactions.executeWithoutResult(status -> waiting.forEach(write -> database.update(write.statement(), write.arguments())));
    }
}
