package io.github.sotto;

/** A compiled grammar. It is immutable and may be shared between threads. */
public final class Grammar extends Owned {
    private Grammar(long handle) {
        super(new Resource(handle, Native::grammarFree, null));
    }

    /** Compiles a source in the language of the parameters. */
    public static Grammar compile(String source, GrammarParams params) {
        Callbacks callbacks = params.log == null ? null : new Callbacks(params.log);
        byte[] text = Native.toUtf8(source);
        if (params.vocabulary == null) {
            return new Grammar(Native.grammarCompile(text, params, 0, callbacks));
        }
        return params.vocabulary.resource.share(
                vocabulary -> new Grammar(Native.grammarCompile(text, params, vocabulary, callbacks)));
    }

    private static Grammar compile(GrammarLanguage language, String source) {
        GrammarParams params = new GrammarParams();
        params.language = language;
        return compile(source, params);
    }

    /** Compiles GBNF with the start rule root. */
    public static Grammar gbnf(String source) {
        return compile(GrammarLanguage.GBNF, source);
    }

    /** Compiles a JSON Schema. */
    public static Grammar jsonSchema(String schema) {
        return compile(GrammarLanguage.JSON_SCHEMA, schema);
    }

    /** Compiles a regular expression that the whole text must match. */
    public static Grammar regex(String pattern) {
        return compile(GrammarLanguage.REGEX, pattern);
    }

    /** Compiles a choice between the strings of a JSON array. */
    public static Grammar choices(String array) {
        return compile(GrammarLanguage.CHOICES, array);
    }

    /** Loads an image that save returned. The image is verified, so it may come from an untrusted source. */
    public static Grammar load(byte[] image) {
        return new Grammar(Native.grammarLoad(image));
    }

    /** Returns the grammar as an image, with the same bytes on every platform. */
    public byte[] save() {
        return resource.share(Native::grammarSave);
    }
}
