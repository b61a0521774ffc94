import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.kstream.KStreamBuilder;

/** Kafka Streams 0.10.1 … 0.11, where a stream is grouped, and its groups are counted. */
final class Topologies {
    static KafkaStreams counting(String input, String output, Properties config) {
        KStreamBuilder builder = new KStreamBuilder();
        builder.stream(Serdes.String(), Serdes.String(), input)
            .groupByKey(Serdes.String(), Serdes.String())
            .count("Counts")
            .to(Serdes.String(), Serdes.Long(), output);
        return new KafkaStreams(builder, config);
    }

    private Topologies() {}
}
