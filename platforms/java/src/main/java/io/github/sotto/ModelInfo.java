package io.github.sotto;

/**
 * What a model is. The fields are those of {@code sotto_model_info} in sotto.h, which says what they mean.
 */
public final class ModelInfo {
    public int vocabularySize;
    public int maxContextTokens;
    public int layerCount;
    public int headCount;
    public int embeddingSize;
    public int feedForwardSize;
    public int endOfTextToken;
    public boolean hasTokenizer;
    public int maxTokenBytes;
    public Isa isa;
    public boolean packedInPlace;
    public long parameterCount;
    public long weightBytes;
    public long vocabularyBytes;
    public int layerWeightBits;
    public int headWeightBits;

    ModelInfo() {}
}
