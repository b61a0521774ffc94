import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.kstream.KStreamBuilder;

/** Kafka Streams 0.10.0, where a stream counts its keys. */
final class Topologies {
    static KafkaStreams counting(String input, String output, Properties config) {
        KStreamBuilder builder = new KStreamBuilder();
        builder.stream(Serdes.String(), Serdes.String(), input)
            .countByKey(Serdes.String(), "Counts")
            .to(Serdes.String(), Serdes.Long(), output);
        return new KafkaStreams(builder, config);
    }

    private Topologies() {}
}
