package io.github.sotto;

/**
 * The chain between logits and token. The fields are those of {@code sotto_sampler_params} in sotto.h, which says
 * what they mean, and begin with its defaults.
 */
public final class SamplerParams {
    public float temperature;
    public int topK;
    public float topP;
    public float minP;
    public float repetitionPenalty;
    public int repetitionWindow;
    public boolean logProbabilities;
    public long seed;
    public Order order;
    public int minKeep;
    public Stage[] stages;
    public float frequencyPenalty;
    public float presencePenalty;
    public boolean penalizePrompt;
    public float penaltySlope;
    public int noRepeatNgram;
    public float dryMultiplier;
    public float dryBase;
    public int dryAllowedLength;
    public int dryWindow;
    public int guardWindow;
    public float guardPenalty;
    public String[] dryBreakers;
    public int[] dryBreakerTokens;
    public float temperatureRange;
    public float temperatureExponent;
    public float smoothingFactor;
    public float smoothingCurve;
    public float topPDecay;
    public float topPMin;
    public int topPResetToken;
    public float topA;
    public float tailFree;
    public float typicalP;
    public float epsilon;
    public float eta;
    public float topNSigma;
    public float topH;
    public float xtcProbability;
    public float xtcThreshold;
    public Selection selection;
    public float mirostatTau;
    public float mirostatEta;
    public int mirostatM;
    public float adaptiveTarget;
    public float adaptiveDecay;
    public int minNewTokens;
    public boolean ignoreEnd;
    public int endDecayStart;
    public float endDecayFactor;
    public int forcedLastToken;
    public TokenBias[] logitBias;
    public SequenceBias[] sequenceBias;
    public int[][] badWords;
    public int[] allowedTokens;
    public int[] suppressedTokens;
    public int[] beginSuppressedTokens;
    public int[] forcedPrefix;
    public Callbacks.Logits logitsCallback;
    public WatermarkParams watermark;
    public Dola dola;
    public float dolaRelativeTop;
    public int alternativeCount;

    public SamplerParams() {
        Native.defaultsSamplerParams(this);
    }
}
