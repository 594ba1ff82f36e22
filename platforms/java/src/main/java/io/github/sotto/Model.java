package io.github.sotto;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** The weights and tokenizer of one file, for any number of sessions and threads. Sessions keep their model alive. */
public final class Model extends Owned {
    final ModelInfo info = new ModelInfo();

    private Model(long handle) {
        super(new Resource(handle, Native::modelFree, null));
        Native.modelInfo(handle, info);
    }

    /** Maps and opens a model file. The file must not change while the model is in use. */
    public static Model open(String path) throws IOException {
        return open(path, new ModelParams());
    }

    public static Model open(String path, ModelParams params) throws IOException {
        if (path.isEmpty()) {
            throw new IOException("a path is missing");
        }
        try {
            return new Model(Native.modelOpen(path, params, callbacks(params)));
        } catch (SottoException failure) {
            throw failure.of(path);
        }
    }

    /**
     * Maps and opens a model inside an open file, such as an uncompressed asset of an Android package. The descriptor may
     * be closed afterwards. If the offset is not a multiple of 64, the bytes are copied.
     */
    public static Model open(int descriptor, long offset, long size, ModelParams params) throws IOException {
        if (offset < 0 || size <= 0) {
            throw new IOException("offset " + offset + ", size " + size + ": not a part of a file");
        }
        return new Model(Native.modelOfDescriptor(descriptor, offset, size, params, callbacks(params)));
    }

    /** Opens a model from a copy of a file's bytes. */
    public static Model of(byte[] bytes, ModelParams params) {
        return new Model(Native.modelOfBytes(bytes.clone(), params, callbacks(params)));
    }

    private static Callbacks callbacks(ModelParams params) {
        return params.log == null ? null : new Callbacks(params.log);
    }

    /** Returns the number of bytes of memory that a model uses in addition to its file, given the bytes of the file. */
    public static long memorySize(byte[] bytes, ModelParams params) {
        return Native.modelMemorySize(bytes, params);
    }

    /** Returns the number of bytes of memory that this model uses in addition to its file. */
    public long memoryBytes() {
        return resource.share(Native::modelMemoryBytes);
    }

    public ModelInfo info() {
        ModelInfo told = new ModelInfo();
        resource.share(model -> {
            Native.modelInfo(model, told);
            return null;
        });
        return told;
    }

    public int[] tokenize(String text) {
        return tokenize(text, false);
    }

    /** Encodes text. With `special`, text such as {@code <|endoftext|>} becomes its special token. */
    public int[] tokenize(String text, boolean special) {
        return tokenize(Native.toUtf8(text), special);
    }

    /** Encodes bytes, which must be UTF-8. */
    public int[] tokenize(byte[] text, boolean special) {
        return resource.share(model -> Native.tokenize(model, text, special));
    }

    /** Returns the bytes of one token; they may begin or end inside a character. */
    public byte[] tokenBytes(int token) {
        return resource.share(model -> Native.tokenBytes(model, token));
    }

    /** Returns the constants of {@link TokenFlag} that hold for a token. */
    public int tokenFlags(int token) {
        return resource.share(model -> Native.tokenFlags(model, token));
    }

    /** Returns a text about the model, or an empty text. */
    public String text(ModelTextKind kind) {
        return resource.share(model -> new String(Native.modelText(model, kind.value()), StandardCharsets.UTF_8));
    }

    /** Returns the bytes of tokens. With byte-level BPE they are exactly the bytes that were encoded. */
    public byte[] detokenize(int[] tokens) {
        return resource.share(model -> Native.detokenize(model, tokens));
    }

    /** Returns the number of bytes of memory that a session uses. */
    public long sessionMemorySize(SessionParams params) {
        return resource.share(model -> Native.sessionMemorySize(model, params));
    }

    public Session session() {
        return session(new SessionParams());
    }

    public Session session(SessionParams params) {
        return Session.of(this, params);
    }
}
