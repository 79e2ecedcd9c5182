import { pipeline, spotifyAds } from 'tidemark';

export default pipeline({ name: 'ads', source: spotifyAds.fromEnv('ADS') });
