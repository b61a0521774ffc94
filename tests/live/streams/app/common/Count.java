import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Properties;
import org.apache.kafka.streams.KafkaStreams;

/**
 * Counts the records of a topic by key, into a persistent store, and writes every count to another topic.
 *
 * <p>Argument: a properties file for Kafka Streams, with three names more: app.input, app.output, app.state (a file). The
 * file holds "STATE THREADS": the state of the client (UNKNOWN where the release has none) and how many stream threads
 * live. A stream thread that died leaves the process running, so this is where it can be seen.
 */
public final class Count {
    public static void main(String[] arguments) throws Exception {
        Properties config = read(arguments[0]);
        String input = (String) config.remove("app.input");
        String output = (String) config.remove("app.output");
        Path state = Paths.get((String) config.remove("app.state"));
        KafkaStreams streams = Topologies.counting(input, output, config);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close, "shutdown"));
        streams.start();
        String written = "";
        while (true) {
            String now = stateOf(streams) + " " + liveThreads();
            if (!now.equals(written)) {
                write(state, now);
                written = now;
            }
            Thread.sleep(50);
        }
    }

    static Properties read(String path) throws Exception {
        Properties config = new Properties();
        try (InputStream file = Files.newInputStream(Paths.get(path))) {
            config.load(file);
        }
        return config;
    }

    private static void write(Path path, String text) throws Exception {
        Path next = path.resolveSibling(path.getFileName() + ".next");
        Files.write(next, text.getBytes("UTF-8"));
        Files.move(next, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    /** 0.10.0 has no state. */
    private static String stateOf(KafkaStreams streams) {
        try {
            return String.valueOf(KafkaStreams.class.getMethod("state").invoke(streams));
        } catch (ReflectiveOperationException missing) {
            return "UNKNOWN";
        }
    }

    /** By their names, because each release has another way to ask. */
    private static int liveThreads() {
        int found = 0;
        Thread[] all = new Thread[Thread.activeCount() + 64];
        int count = Thread.enumerate(all);
        for (int i = 0; i < count; i++) {
            if (all[i].getName().matches(".*StreamThread-\\d+")) {
                found++;
            }
        }
        return found;
    }

    private Count() {}
}
