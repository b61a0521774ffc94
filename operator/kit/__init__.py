"""What every resource of ours is made with. Nothing here knows Kafka, or a kind of ours."""
