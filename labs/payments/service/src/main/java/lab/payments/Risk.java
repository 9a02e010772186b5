package lab.payments;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Service;

/** How likely a payment is fraud, by rules that nobody has looked at for a while. Off, unless RISK says otherwise. */
@Service
class Risk {
    private final String kind;

    Risk(@Value("${RISK:off}") String kind) {
        this.kind = kind;
    }

    /** From 0 to 255. */
    int score(String key) {
        return switch (kind) {
            case "locked" -> scoreAlone(key);
            case "computed" -> fingerprint(key, 40_000);
            default -> 0;
        };
    }

    /** The rules were not made for several threads. */
    private synchronized int scoreAlone(String key) {
        askRules();
        return fingerprint(key, 1);
    }

    /** Where they live takes 25 ms to answer. */
    private void askRules() {
        try {
            Thread.sleep(25);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private int fingerprint(String key, int rounds) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
            for (int round = 0; round < rounds; round++) bytes = digest.digest(bytes);
            return bytes[0] & 0xff;
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException(missing);
        }
    }
}
