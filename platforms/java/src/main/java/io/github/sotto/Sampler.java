package io.github.sotto;

/** The sampler's chain without a session, for the logits of any runtime. */
public final class Sampler extends Owned {
    /** The input for one token. */
    public static final class Input {
        /** One per token of the vocabulary. */
        public float[] logits;
        /** Bit i % 64 of word i / 64 allows token i; null allows all. */
        public long[] allowed;
        /** The previous tokens, newest last. */
        public int[] history;
        /** Number of tokens at the end of the history that were generated. */
        public long generatedCount;
        /** Maximum number of generated tokens, or 0 if it is unknown. */
        public long tokenLimit;
        /** The stream of random numbers. */
        public int sequence;

        public Input(float... logits) {
            this.logits = logits;
        }
    }

    /** The distribution after the chain: tokens in order and their probabilities. */
    public static final class Distribution {
        public final int[] tokens;
        public final float[] probabilities;

        private Distribution(int[] tokens, float[] probabilities) {
            this.tokens = tokens;
            this.probabilities = java.util.Arrays.copyOf(probabilities, tokens.length);
        }
    }

    private static final int LIST_BYTES = 16384;
    private final Callbacks callbacks;
    private final int vocabularySize;

    /** Creates a sampler. The model may be null; it defines the text of tokens and the end-of-text token. */
    public Sampler(int vocabularySize, Model model, SamplerParams params) {
        this(vocabularySize, model, new Callbacks());
        try {
            set(params);
        } catch (RuntimeException | Error failure) {
            close();
            throw failure;
        }
    }

    private Sampler(int vocabularySize, Model model, Callbacks callbacks) {
        super(make(vocabularySize, model, callbacks));
        this.vocabularySize = vocabularySize;
        this.callbacks = callbacks;
    }

    private static Resource make(int vocabularySize, Model model, Callbacks callbacks) {
        if (model == null) {
            long made = Native.samplerNew(0, vocabularySize, LIST_BYTES, callbacks);
            return new Resource(made, Native::samplerFree, null);
        }
        long used = model.resource.retain();
        try {
            long made = Native.samplerNew(used, vocabularySize, LIST_BYTES, callbacks);
            return new Resource(made, Native::samplerFree, null, model.resource);
        } catch (RuntimeException | Error failure) {
            model.resource.release();
            throw failure;
        }
    }

    /** Sets the parameters and restarts the random numbers from the seed. */
    public void set(SamplerParams params) {
        resource.act(sampler -> {
            Callbacks.Logits logits = callbacks.logits;
            Callbacks.Processor processor = callbacks.processor;
            callbacks.logits = params.logitsCallback;
            callbacks.processor = params.logitsProcessor;
            try {
                Native.samplerSet(sampler, params, params.logitsCallback != null, params.logitsProcessor != null);
            } catch (RuntimeException | Error failure) {
                callbacks.logits = logits;
                callbacks.processor = processor;
                throw failure;
            }
        });
    }

    /** Selects a token. */
    public int sample(Input input) {
        float[] logits = input.logits;
        long[] allowed = input.allowed;
        check(logits, allowed);
        return resource.run(sampler -> Native.samplerSample(sampler, logits, allowed, input.history,
                input.generatedCount, input.tokenLimit, input.sequence));
    }

    /** Returns the distribution after the chain. */
    public Distribution apply(Input input) {
        float[] logits = input.logits;
        long[] allowed = input.allowed;
        check(logits, allowed);
        float[] probabilities = new float[vocabularySize];
        int[] tokens = resource.run(sampler -> Native.samplerApply(sampler, logits, allowed, input.history,
                input.generatedCount, input.tokenLimit, input.sequence, probabilities));
        return new Distribution(tokens, probabilities);
    }

    private void check(float[] logits, long[] allowed) {
        if (logits.length != vocabularySize) {
            throw new IllegalArgumentException(
                    "logits has " + logits.length + " elements; it must have " + vocabularySize);
        }
        int words = (vocabularySize + 63) / 64;
        if (allowed != null && allowed.length < words) {
            throw new IllegalArgumentException(
                    "allowed has " + allowed.length + " words; it must have at least " + words);
        }
    }
}
