package io.github.sotto;

/** The weight of a message. */
public enum LogLevel implements Constant {
    ERROR(1),
    WARNING(2),
    INFO(3);

    private final int value;

    LogLevel(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static LogLevel of(int value) {
        return Constant.find(values(), value);
    }
}
