import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/** Kafka Streams 1.0 and later. */
final class Topologies {
    static KafkaStreams counting(String input, String output, Properties config) {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> records = builder.stream(input);
        records.groupByKey()
            .count(Materialized.as("Counts"))
            .toStream()
            .to(output, Produced.with(Serdes.String(), Serdes.Long()));
        return new KafkaStreams(builder.build(), config);
    }

    private Topologies() {}
}
