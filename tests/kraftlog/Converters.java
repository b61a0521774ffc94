import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedOutputStream;
import java.io.File;
import java.io.PrintStream;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.ControlRecordUtils;
import org.apache.kafka.common.record.internal.FileLogInputStream;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Prints a metadata log as `python -m kraftlog dump` does, by Kafka's own classes: the oracle for Kafka 4.4.0. */
public class Converters {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, "UTF-8");
        MetadataRecordSerde serde = new MetadataRecordSerde();
        for (String name : arguments) {
            try (FileRecords records = FileRecords.open(new File(name), false)) {
                for (FileLogInputStream.FileChannelRecordBatch batch : records.batches()) {
                    for (Record record : batch) {
                        String head = "{\"offset\":" + record.offset() + ",\"timestamp\":" + record.timestamp()
                            + ",\"leader_epoch\":" + batch.partitionLeaderEpoch()
                            + ",\"base_offset\":" + batch.baseOffset()
                            + ",\"control\":" + batch.isControlBatch() + ",\"crc_valid\":" + batch.isValid();
                        out.println(head + (batch.isControlBatch() ? control(record) : metadata(serde, record)) + "}");
                    }
                }
            }
        }
        out.flush();
    }

    private static String metadata(MetadataRecordSerde serde, Record record) {
        ApiMessageAndVersion read = serde.read(new ByteBufferAccessor(record.value()), record.valueSize());
        JsonNode data = MetadataJsonConverters.writeJson(read.message(), read.version());
        return body(MetadataRecordType.fromId(read.message().apiKey()).toString(), read.version(), data);
    }

    private static String control(Record record) {
        ControlRecordType type = ControlRecordType.parse(record.key());
        switch (type) {
            case LEADER_CHANGE: {
                var message = ControlRecordUtils.deserializeLeaderChangeMessage(record);
                return body("LeaderChange", message.version(),
                    org.apache.kafka.common.message.LeaderChangeMessageJsonConverter.write(message, message.version()));
            }
            case SNAPSHOT_HEADER: {
                var message = ControlRecordUtils.deserializeSnapshotHeaderRecord(record);
                return body("SnapshotHeader", message.version(),
                    org.apache.kafka.common.message.SnapshotHeaderRecordJsonConverter.write(message, message.version()));
            }
            case SNAPSHOT_FOOTER: {
                var message = ControlRecordUtils.deserializeSnapshotFooterRecord(record);
                return body("SnapshotFooter", message.version(),
                    org.apache.kafka.common.message.SnapshotFooterRecordJsonConverter.write(message, message.version()));
            }
            case KRAFT_VERSION: {
                var message = ControlRecordUtils.deserializeKRaftVersionRecord(record);
                return body("KRaftVersion", message.version(),
                    org.apache.kafka.common.message.KRaftVersionRecordJsonConverter.write(message, message.version()));
            }
            case KRAFT_VOTERS: {
                var message = ControlRecordUtils.deserializeVotersRecord(record);
                return body("KRaftVoters", message.version(),
                    org.apache.kafka.common.message.VotersRecordJsonConverter.write(message, message.version()));
            }
            default:
                throw new IllegalArgumentException("a control record of type " + type);
        }
    }

    private static String body(String type, int version, JsonNode data) {
        return ",\"type\":\"" + type + "\",\"version\":" + version + ",\"data\":" + data;
    }
}
