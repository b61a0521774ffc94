import java.io.File;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.FileLogInputStream;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.MetadataVersion;

/** Prints `LEVEL<tab>COUNT<tab>LOSS` for what Kafka's own image writer tells its loss handler, at every level. */
public class Losses {
    /** What Kafka's loader handles before a delta sees it; none of the logs here has an aborted transaction. */
    private static final Set<String> TRANSACTION = Set.of("BeginTransactionRecord", "EndTransactionRecord");

    public static void main(String[] arguments) throws Exception {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        MetadataRecordSerde serde = new MetadataRecordSerde();
        for (String name : arguments) {
            try (FileRecords records = FileRecords.open(new File(name), false)) {
                for (FileLogInputStream.FileChannelRecordBatch batch : records.batches()) {
                    if (batch.isControlBatch()) {
                        continue;
                    }
                    for (Record record : batch) {
                        var message = serde.read(new ByteBufferAccessor(record.value()), record.valueSize()).message();
                        if (!TRANSACTION.contains(message.getClass().getSimpleName())) {
                            delta.replay(message);
                        }
                    }
                }
            }
        }
        MetadataImage image = delta.apply(MetadataProvenance.EMPTY);
        for (MetadataVersion version : MetadataVersion.VERSIONS) {
            TreeMap<String, Integer> losses = new TreeMap<>();
            image.write(new RecordListWriter(), new ImageWriterOptions.Builder(image)
                .setMetadataVersion(version)
                .setLossHandler(loss -> losses.merge(loss.loss(), 1, Integer::sum))
                .build());
            losses.forEach((loss, count) -> System.out.println(version.featureLevel() + "\t" + count + "\t" + loss));
        }
    }
}
