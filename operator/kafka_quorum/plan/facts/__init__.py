"""Facts about a situation that concerns and guards use. Pure; nothing here decides."""
