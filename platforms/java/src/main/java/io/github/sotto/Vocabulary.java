package io.github.sotto;

import java.io.ByteArrayOutputStream;

/** The tokens of a matcher's masks. */
public final class Vocabulary extends Owned {
    final int tokenCount;

    private Vocabulary(Resource resource, int tokenCount) {
        super(resource);
        this.tokenCount = tokenCount;
    }

    /** Creates the vocabulary of a model, with the model's end-of-text token. */
    public static Vocabulary of(Model model) {
        return of(model.resource, model.resource.retain());
    }

    /** Creates the vocabulary on behalf of a user of the model, which may already be closed. */
    static Vocabulary ofHeld(Resource model) {
        return of(model, model.retainHeld());
    }

    private static Vocabulary of(Resource model, long handle) {
        try {
            ModelInfo info = new ModelInfo();
            Native.modelInfo(handle, info);
            long made = Native.vocabularyNew(handle, null, null, null, null);
            return new Vocabulary(new Resource(made, Native::vocabularyFree, null, model), info.vocabularySize);
        } catch (RuntimeException | Error failure) {
            model.release();
            throw failure;
        }
    }

    /**
     * Creates a vocabulary of any tokens. `special` lists tokens without text, `ends` those that are allowed where the
     * text may end; both may be empty.
     */
    public static Vocabulary of(byte[][] tokens, int[] special, int[] ends) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int[] offsets = new int[tokens.length + 1];
        for (int i = 0; i < tokens.length; ++i) {
            bytes.write(tokens[i], 0, tokens[i].length);
            offsets[i + 1] = bytes.size();
        }
        byte[] flags = new byte[tokens.length];
        for (int token : special) {
            flags[token] = 1;
        }
        long made = Native.vocabularyNew(0, bytes.toByteArray(), offsets, flags, ends);
        return new Vocabulary(new Resource(made, Native::vocabularyFree, null), tokens.length);
    }
}
