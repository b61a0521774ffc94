import java.lang.reflect.Field;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;

/**
 * What this release does with each value of a setting, without a broker.
 *
 * <p>Arguments: a properties file, the setting, its values. A line of the output: value, tab, "ignored" (no such
 * setting), "refused" (by the configuration), "fails" (while the client is made) or "accepted", tab, the error.
 */
public final class Probe {
    public static void main(String[] arguments) throws Exception {
        String setting = arguments[1];
        for (int i = 2; i < arguments.length; i++) {
            Properties config = Count.read(arguments[0]);
            config.setProperty(setting, arguments[i]);
            // From 2.6 on a client locks its directory while it is made, and these are never closed.
            config.setProperty("state.dir", config.getProperty("state.dir") + "-" + arguments[i]);
            System.out.println(arguments[i] + "\t" + result(config, setting));
        }
        System.out.flush();
        Runtime.getRuntime().halt(0); // clients that were made and not started have threads
    }

    /** 0.10.0 has no public way to ask. */
    private static Set<String> settings() throws ReflectiveOperationException {
        Field definition = StreamsConfig.class.getDeclaredField("CONFIG");
        definition.setAccessible(true);
        return ((ConfigDef) definition.get(null)).names();
    }

    private static String result(Properties config, String setting) throws ReflectiveOperationException {
        if (!settings().contains(setting)) {
            return "ignored\t";
        }
        try {
            new StreamsConfig(config);
        } catch (RuntimeException wrong) {
            return "refused\t" + line(wrong);
        }
        try {
            KafkaStreams streams = Topologies.counting("input", "output", config);
        } catch (RuntimeException wrong) {
            return "fails\t" + line(wrong);
        }
        return "accepted\t";
    }

    /** The innermost cause, which says the most. */
    private static String line(Throwable wrong) {
        Throwable cause = wrong;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return String.valueOf(cause).replace('\n', ' ').replace('\t', ' ');
    }

    private Probe() {}
}
