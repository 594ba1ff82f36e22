package io.github.sotto;

/** The library rejected a call. */
public class SottoException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int code;
    private final long offset;

    SottoException(int code, String message, long offset) {
        super(message.isEmpty() ? Native.statusText(code) : message);
        this.code = code;
        this.offset = offset;
    }

    /** Returns the same failure with the name of a file at the beginning of its message. */
    SottoException of(String file) {
        return new SottoException(code, file + ": " + getMessage(), offset);
    }

    /** Returns the status; null for one that a newer library has added. */
    public Status status() {
        return Status.of(code);
    }

    /** Returns the offset of the first invalid byte of the input, or -1. */
    public long offset() {
        return offset;
    }
}
