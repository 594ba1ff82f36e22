plugins {
    id("com.android.application") version "8.7.3"
    id("org.jetbrains.kotlin.android") version "1.9.25"
}

android {
    namespace = "io.github.sotto.example"
    compileSdk = 35
    defaultConfig {
        applicationId = "io.github.sotto.example"
        minSdk = 24
        targetSdk = 35
    }
    androidResources { noCompress += "sotto" }  // so that the model can be mapped inside the package
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_11
        targetCompatibility = JavaVersion.VERSION_11
    }
    kotlinOptions { jvmTarget = "11" }
}

dependencies {
    implementation(files("libs/sotto.aar"))
}
